import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createLog } from '../../src/log/log.ts'
import { type EmbeddedCluster, startEmbeddedCluster } from '../../src/postgres/cluster/embedded-cluster.ts'
import type { Measured } from './entry.ts'
import type { Watched } from './resource-use.ts'
import { type RunningService, secret, spawnService } from './service.ts'

/** The `prepare` of an entry that opens things in a frame: they are closed with it, also when preparing fails. */
export function inFrame(
  prepare: (frame: Frame) => Promise<Omit<Measured, 'tearDown' | 'watched'>>,
): () => Promise<Measured> {
  return async () => {
    const frame = new Frame()
    try {
      const measured = await prepare(frame)
      return { ...measured, watched: () => frame.watched(), tearDown: () => frame.close() }
    } catch (error) {
      await frame.close()
      throw error
    }
  }
}

/** What an entry may use. Everything it opens is closed when the entry ends or the run is interrupted. */
export class Frame {
  readonly #cleanups: (() => Promise<unknown>)[] = []
  readonly #interrupted = () => void this.close().then(() => process.exit(130))
  readonly #services: number[] = []
  readonly #postmasters: number[] = []
  #cluster: Promise<EmbeddedCluster> | undefined

  constructor() {
    process.once('SIGINT', this.#interrupted).once('SIGTERM', this.#interrupted)
  }

  after(cleanup: () => Promise<unknown>): void {
    this.#cleanups.push(cleanup)
  }

  async makeFolder(): Promise<string> {
    const folder = await makeFolder()
    this.after(() => rm(folder, { recursive: true, force: true }))
    return folder
  }

  /** A cluster with production settings, fsync included; the services of one entry share it. */
  cluster(): Promise<EmbeddedCluster> {
    this.#cluster ??= this.#startCluster()
    return this.#cluster
  }

  /** Another cluster, as on another machine. */
  secondCluster(): Promise<EmbeddedCluster> {
    return this.#startCluster()
  }

  async #startCluster(): Promise<EmbeddedCluster> {
    const cluster = await startEmbeddedCluster({
      dataDir: await this.makeFolder(),
      // Some baselines connect to it without a client library.
      isOnTcp: true,
      log: createLog('warn'),
      isEphemeral: true,
    })
    this.after(() => cluster.stop())
    this.#postmasters.push(cluster.pid)
    return cluster
  }

  /** `cartage serve` as its own process on the shared cluster, with its own namespace. */
  async startService(
    env: Readonly<Record<string, string>> = {},
  ): Promise<RunningService & { namespace: string }> {
    const namespace = `bench_${randomBytes(3).toString('hex')}`
    const { url } = await this.cluster()
    const service = await spawnService({
      CARTAGE_DATABASE_URL: url,
      CARTAGE_SECRET: secret,
      CARTAGE_NAMESPACE: namespace,
      ...env,
    })
    this.after(() => service.stop())
    this.#services.push(service.pid)
    return { ...service, namespace }
  }

  watched(): Watched {
    return { service: this.#services, postgres: this.#postmasters }
  }

  /** The administrator's URL of a database of the shared cluster. */
  async urlOf(database: string): Promise<URL> {
    const url = new URL((await this.cluster()).url)
    url.pathname = `/${database}`
    return url
  }

  /** A connection of the administrator to a database of the shared cluster. */
  async connect(database = 'postgres'): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: (await this.urlOf(database)).href })
    await client.connect()
    this.after(() => client.end())
    return client
  }

  async close(): Promise<void> {
    process.off('SIGINT', this.#interrupted).off('SIGTERM', this.#interrupted)
    for (const cleanup of this.#cleanups.splice(0).reverse()) {
      await cleanup().catch((error: unknown) => console.error('cleaning up failed:', error))
    }
  }
}

/** The server runs as another user and may read files in it. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-bench-'))
  await chmod(folder, 0o711)
  return folder
}
