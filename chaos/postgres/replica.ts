import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createLog } from '../../src/log/log.ts'
import { findBinaries, type PostgresBinaries } from '../../src/postgres/cluster/find-binaries.ts'
import { type ClusterHome, openHome } from '../../src/postgres/cluster/home.ts'
import { emptyEnvironment, superuser } from '../../src/postgres/cluster/initialise.ts'
import { writeOwned } from '../../src/postgres/cluster/owned-files.ts'
import { choosePort, lastWords, spawnPostmaster } from '../../src/postgres/cluster/postmaster.ts'
import { isAlive } from '../../src/postgres/cluster/processes.ts'
import { urlOf } from '../../src/postgres/cluster/server.ts'
import { type Primary, startPrimary } from './primary.ts'
import { runSql } from './run-sql.ts'
import { killAll } from './stop-processes.ts'

/** A streaming replica that nothing restarts. */
export class Replica {
  readonly url: string
  readonly #dataDir: string
  readonly #home: ClusterHome

  /** Copies the primary at `url`, and follows it from there. */
  static async make(dataDir: string, url: string): Promise<Replica> {
    const home = await openHome(dataDir, createLog('error'))
    const [binaries] = await findBinaries()
    const { port, password } = new URL(url)
    try {
      await copyPrimary(home, binaries!, port, password)
      await writeOwned(home.passwordPath, home.identity, password)
      return new Replica(dataDir, home, await startReplica(home, binaries!, password))
    } catch (error) {
      await remove(dataDir, home)
      throw error
    }
  }

  private constructor(dataDir: string, home: ClusterHome, url: string) {
    this.#dataDir = dataDir
    this.#home = home
    this.url = url
  }

  async isStreaming(): Promise<boolean> {
    const { rowCount } = await runSql(
      this.url,
      'postgres',
      "select from pg_stat_wal_receiver where status = 'streaming'",
    )
    return rowCount === 1
  }

  /** Promotes it with what it has; a repeated call changes nothing. */
  async promote(): Promise<void> {
    await runSql(this.url, 'postgres', 'select pg_promote(true, 10) where pg_is_in_recovery()')
  }

  /** After its promotion: returns it as a primary, which is restarted. */
  handOver(): Promise<Primary> {
    return startPrimary(this.#dataDir)
  }

  remove(): Promise<void> {
    return remove(this.#dataDir, this.#home)
  }
}

async function remove(dataDir: string, home: ClusterHome): Promise<void> {
  await killAll(home.dataPath)
  for (const path of [home.directory, dataDir]) await rm(path, { recursive: true, force: true })
}

/** With `-R` the copy knows its primary. The password is in the environment, which no list of processes shows. */
async function copyPrimary(
  { dataPath, directory, identity }: ClusterHome,
  binaries: PostgresBinaries,
  port: string,
  password: string,
): Promise<void> {
  const options = ['-h', '127.0.0.1', '-p', port, '-U', superuser, '-D', dataPath]
  await run(join(binaries.directory, 'pg_basebackup'), [...options, '-R', '-c', 'fast', '--no-sync'], {
    cwd: directory,
    env: { ...emptyEnvironment, PGPASSWORD: password, PGSSLMODE: 'disable' },
    timeout: 60_000,
    killSignal: 'SIGKILL',
    ...identity,
  })
}

/** Starts the copy and waits until it answers queries. */
async function startReplica(
  home: ClusterHome,
  binaries: PostgresBinaries,
  password: string,
): Promise<string> {
  const replica = await spawnPostmaster(home, binaries, await choosePort(home), true)
  const url = urlOf({ home, password }, replica)
  for (const deadline = Date.now() + 60_000; isAlive(replica.pid) && Date.now() < deadline; ) {
    const answers = await runSql(url, 'postgres', 'select').then(
      () => true,
      () => false,
    )
    if (answers) return url
    await sleep(50)
  }
  throw new Error(`the replica did not start: ${await lastWords(home, 0)}`)
}

const run = promisify(execFile)
