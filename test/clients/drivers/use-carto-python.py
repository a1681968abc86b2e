"""Does with carto-python what its users do, against the service at argv[1] as the holder of argv[2].

Prints one JSON document: what the client made of each answer. Run by ../python-clients.test.ts where the package is
installed, and by ../record.ts to make the recording that is replayed everywhere else.
"""
import io
import json
import sys
import time
import warnings

from carto.api_keys import APIKeyManager
from carto.auth import APIKeyAuthClient, AuthAPIClient
from carto.datasets import DatasetManager
from carto.sql import BatchSQLClient, CopySQLClient, SQLClient

warnings.simplefilter("ignore")
base_url, token = sys.argv[1:3]
client = APIKeyAuthClient(base_url, token)
sql = SQLClient(client)
seen = {}


def message_of(act):
    try:
        act()
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)
    return "no error"


def run_sql():
    seen["rows"] = sql.send("select 1 as a, '100%' as b")["rows"]
    seen["rows by GET"] = sql.send("select 1 as a, '100%' as b", do_post=False)["rows"]
    seen["sql error"] = message_of(lambda: sql.send("select nothing"))
    features = sql.send("select ST_MakePoint(1, 2) as the_geom", format="geojson")
    seen["features"] = len(features["features"])
    seen["csv"] = sql.send("select 1 as a", parse_json=False, format="csv").decode()


def run_jobs():
    batch = BatchSQLClient(client)
    ended = batch.create_and_wait_for_completion("create table places (name text, n int)")
    seen["job"] = ended["status"]
    seen["job error"] = message_of(lambda: batch.create_and_wait_for_completion("select nothing"))
    waiting = batch.create(["select pg_sleep(600)"])
    seen["job created"] = [waiting["status"], [item["query"] for item in waiting["query"]]]
    while batch.read(waiting["job_id"])["query"][0]["status"] != "running":
        time.sleep(0.1)
    seen["job cancelled"] = batch.cancel(waiting["job_id"])
    seen["cancelled again"] = message_of(lambda: batch.cancel(waiting["job_id"]))


def run_copies():
    copy = CopySQLClient(client)
    into = "COPY places (name, n) FROM stdin WITH (FORMAT csv)"
    lines = [b"row %d,%d\n" % (n, n) for n in range(1000)]
    seen["copied in"] = copy.copyfrom(into, lines)["total_rows"]
    seen["copied in plain"] = copy.copyfrom_file_object(into, io.BytesIO(b"x,-1\n"), compress=False)["total_rows"]
    seen["copyfrom error"] = message_of(lambda: copy.copyfrom(into, [b"x,y\n"]))
    out = io.BytesIO()
    copy.copyto_file_object("COPY (SELECT * FROM places WHERE n < 2 ORDER BY n) TO stdout WITH (FORMAT csv)", out)
    seen["copied out"] = out.getvalue().decode()
    seen["copyto error"] = message_of(lambda: copy.copyto("COPY nothing TO stdout"))


def run_keys():
    keys = APIKeyManager(client)
    tables = [{"schema": "public", "name": "places", "permissions": ["select", "insert"]}]
    key = keys.create("reader", apis=["sql"], tables=tables, services=["geocoding"])
    seen["key"] = [key.name, key.type, key.grants.apis, key.grants.services]
    seen["key tables"] = [[table.schema, table.name, sorted(table.permissions)] for table in key.grants.tables]
    seen["created twice"] = message_of(lambda: keys.create("reader", apis=["sql"]))
    seen["not to be granted"] = message_of(
        lambda: keys.create("other", tables=[{"schema": "public", "name": "none", "permissions": ["select"]}])
    )
    seen["key names"] = sorted(each.name for each in keys.all())
    read = keys.get("reader")
    seen["same token"] = read.token == key.token
    reader = SQLClient(APIKeyAuthClient(base_url, key.token))
    seen["count"] = reader.send("select count(*) from places")["rows"]
    seen["not granted"] = message_of(lambda: reader.send("delete from places"))
    read.regenerate_token()
    seen["token changed"] = read.token != key.token
    seen["old token"] = message_of(lambda: reader.send("select 1"))
    read.delete()
    seen["deleted"] = message_of(lambda: keys.get("reader"))
    seen["valid"] = AuthAPIClient(base_url, token).is_valid_api_key()
    seen["not valid"] = AuthAPIClient(base_url, "wrong").is_valid_api_key()


def run_datasets():
    datasets = DatasetManager(client)
    seen["datasets"] = [dataset.name for dataset in datasets.all()]
    dataset = datasets.get("places")
    seen["dataset"] = [dataset.name, dataset.privacy]
    dataset.privacy = "PUBLIC"
    dataset.save()
    seen["public"] = datasets.get("places").privacy


for run in (run_sql, run_jobs, run_copies, run_keys, run_datasets):
    run()
print(json.dumps(seen))
