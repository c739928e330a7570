from dataclasses import dataclass
class SourceError(Exception): pass
@dataclass
class S: text: str
def read(path):
    return S(open(path,encoding='utf-8',errors='replace',newline='').read())
