"""What an option or argument may be set to, where it takes one of a few words."""

import enum


class ListFormat(str, enum.Enum):
    """For people or for machines."""

    TEXT = "text"
    JSON = "json"


class Device(str, enum.Enum):
    """Where fixtures are run."""

    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"
    ALL = "all"


class Stock(str, enum.Enum):
    """What is done with the cache."""

    DIR = "dir"
    SIZE = "size"
    CLEAN = "clean"


class Action(str, enum.Enum):
    """What is done with a campaign."""

    INIT = "init"
    PLAN = "plan"
    RUN = "run"
    STATUS = "status"
    REPORT = "report"
    UPDATE = "update"
    CLOSE = "close"


class Engine(str, enum.Enum):
    """Where a campaign's repositories are worked on."""

    LOCAL = "local"
    DASK = "dask"


class ReportFormat(str, enum.Enum):
    """How a campaign is told of."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class Split(str, enum.Enum):
    """What gets a pull request of its own."""

    RULE = "rule"
    FOLDER = "folder"
    OWNER = "owner"


class ForgeKind(str, enum.Enum):
    """What a host of repositories runs."""

    GITHUB = "github"
    GITLAB = "gitlab"


class When(str, enum.Enum):
    """Where lines are coloured; auto: on a terminal, and as NO_COLOR and FORCE_COLOR say."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"
