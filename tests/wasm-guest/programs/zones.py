"""Time zones are there, and times that change."""
import datetime
import os
import zoneinfo

names = zoneinfo.available_timezones()
assert len(names) > 400 and {"Europe/Berlin", "Asia/Tokyo", "America/New_York", "UTC", "Etc/GMT+5"} <= names, len(names)
for name in names:
    zoneinfo.ZoneInfo(name)
at = datetime.datetime(2026, 7, 1, 12, tzinfo=datetime.timezone.utc)
for name in ("Asia/Shanghai", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"):
    print(at.astimezone(zoneinfo.ZoneInfo(name)).isoformat())
winter = at.replace(month=1).astimezone(zoneinfo.ZoneInfo("Europe/Berlin"))
print(winter.isoformat(), winter.tzname(), os.path.exists("/usr/share/zoneinfo/Europe/Berlin"))
