class Refused(Exception):
    def __str__(self):
        return "line one\nline two"


raise Refused
