import sqlite3

db = sqlite3.connect("shop.db")
db.execute("pragma journal_mode = wal")
with db:
    db.execute("create table sales (city text, n int)")
    db.executemany("insert into sales values (?, ?)", [("Łódź", 3), ("Bern", 4), ("Łódź", 5)])
print(db.execute("select city, sum(n) from sales group by city order by 1").fetchall())
db.close()
print(sqlite3.connect(":memory:").execute("select json_extract('[1, 2]', '$[1]')").fetchone())
