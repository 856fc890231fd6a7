import datetime
import locale
import time
import zoneinfo

t = datetime.datetime(2026, 7, 1, 12, tzinfo=datetime.timezone.utc)
for name in ("Asia/Shanghai", "America/New_York", "Europe/Berlin", "Asia/Kolkata"):
    print(t.astimezone(zoneinfo.ZoneInfo(name)).isoformat())
print(time.tzname[0], time.localtime(0).tm_hour, locale.getpreferredencoding(), len(zoneinfo.available_timezones()) > 400)
print(locale.setlocale(locale.LC_ALL, ""), f"{1234567.891:n}", datetime.datetime(2026, 1, 2).strftime("%A %B"))
