"""The files of a project, and who imports whom: found out in their bytes and names, without parsing anything."""
