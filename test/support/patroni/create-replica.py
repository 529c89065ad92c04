"""Makes a replica for Patroni without pg_basebackup, which the built-in PostgreSQL does not have.

Copies the folder of the member that Patroni names, which is on the same machine, between the start and the stop of a
backup in one session, as the manual of PostgreSQL describes it.
"""

import argparse
import os
import shutil
import subprocess

import psycopg2

parser = argparse.ArgumentParser()
parser.add_argument("--connstring", required=True)
parser.add_argument("--datadir", required=True)
options, _ = parser.parse_known_args()

session = psycopg2.connect(options.connstring, dbname="postgres")
session.autocommit = True
cursor = session.cursor()
cursor.execute("SHOW data_directory")
(source,) = cursor.fetchone()
cursor.execute("SELECT pg_backup_start('replica', true)")
# Temporary files may vanish meanwhile; a copy that lacks more does not recover.
subprocess.run(["cp", "-a", source, options.datadir], stderr=subprocess.DEVNULL)
cursor.execute("SELECT labelfile FROM pg_backup_stop(false)")
(label,) = cursor.fetchone()

with open(os.path.join(options.datadir, "backup_label"), "w") as file:
    file.write(label)
for name in ("postmaster.pid", "standby.signal"):
    if os.path.exists(os.path.join(options.datadir, name)):
        os.remove(os.path.join(options.datadir, name))
for slot in os.scandir(os.path.join(options.datadir, "pg_replslot")):
    shutil.rmtree(slot.path)
