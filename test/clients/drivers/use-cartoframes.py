"""Does with cartoframes what its users do, against the service at argv[1] as the holder of argv[2].

Prints one JSON document: what the client made of each answer. Run by ../python-clients.test.ts where the package is
installed, and by ../record.ts to make the recording that is replayed everywhere else.
"""
import json
import sys
import warnings

warnings.simplefilter("ignore")

import geopandas
from cartoframes import (
    copy_table,
    create_table_from_query,
    delete_table,
    describe_table,
    has_table,
    list_tables,
    read_carto,
    rename_table,
    to_carto,
    update_privacy_table,
)
from cartoframes.auth import Credentials
from cartoframes.data.clients import SQLClient
from cartoframes.data.clients.auth_api_client import AuthAPIClient
from cartoframes.utils.metrics import setup_metrics
from cartoframes.viz import Source

base_url, token = sys.argv[1:3]
setup_metrics(False)
username = base_url.rstrip("/").rsplit("/", 1)[1]
credentials = Credentials(username=username, api_key=token, base_url=base_url, allow_non_secure=True)
seen = {}


def run_tables():
    frame = geopandas.GeoDataFrame(
        {
            "name": ["Madrid", "It's 100% \"it\"", None],
            "people": [3223000, 2, 3],
            "big": [True, False, True],
        },
        geometry=geopandas.GeoSeries.from_wkt(["POINT (-3.7 40.4)", "POINT (1 2)", None]),
        crs="epsg:4326",
    )
    seen["user id"] = credentials.user_id
    seen["uploaded"] = to_carto(frame, "cities", credentials, log_enabled=False)
    seen["has table"] = [has_table(name, credentials) for name in ("cities", "towns")]
    read = read_carto("cities", credentials)
    seen["columns"] = list(read.columns)
    seen["rows"] = [[row["name"], row["people"], str(row["the_geom"])] for _, row in read.iterrows()]
    seen["appended"] = to_carto(frame, "cities", credentials, if_exists="append", log_enabled=False)
    seen["filtered"] = len(read_carto("SELECT * FROM cities WHERE people = 2", credentials))
    seen["tables"] = list(list_tables(credentials)["tables"])


def run_datasets():
    seen["described"] = describe_table("cities", credentials)
    update_privacy_table("cities", "public", credentials, log_enabled=False)
    seen["public"] = describe_table("cities", credentials)["privacy"]
    copy_table("cities", "copied", credentials, log_enabled=False)
    create_table_from_query("SELECT name FROM cities", "names", credentials, log_enabled=False)
    rename_table("copied", "towns", credentials, log_enabled=False)
    seen["renamed"] = [has_table(name, credentials) for name in ("copied", "towns", "names")]
    delete_table("towns", credentials, log_enabled=False)
    seen["deleted"] = has_table("towns", credentials)


def run_keys():
    sources = [Source("cities", credentials)]
    name, first, tables = AuthAPIClient(credentials).create_api_key(sources)
    again, second, _ = AuthAPIClient(credentials).create_api_key(sources)
    seen["key"] = [name == again, first == second, tables]


def run_sql():
    client = SQLClient(credentials)
    seen["query"] = client.query("SELECT count(*) AS n FROM cities")
    client.execute("CREATE TABLE made (x int)")
    seen["schema"] = client.schema("made", raw=True)


for run in (run_tables, run_datasets, run_keys, run_sql):
    run()
print(json.dumps(seen, default=str))
