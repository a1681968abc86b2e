import { join } from 'node:path'
import type { Listener } from '../proxy/link.ts'
import { TcpProxy } from '../proxy/tcp-proxy.ts'
import type { Random } from '../random.ts'
import { type Primary, startPrimary } from './primary.ts'
import { Replica } from './replica.ts'
import {
  type Ended,
  endWaitingCommit,
  isSynchronousNow,
  makeAsynchronous,
  makeSynchronous,
} from './synchronous.ts'

/** Entries of the ledger that were committed before a fail-over and had not reached the replica. */
export type LostTail = Readonly<{
  entries: ReadonlySet<string>
  /** Those that the control database called done before the new primary could be queried. */
  recorded: ReadonlySet<string>
  /** When the old primary was shut off. */
  at: Date
  /** Commits waited for the replica: nothing that was lost may have been called done. */
  isSynchronous: boolean
}>

/** A replica to be promoted, and its link to the primary. */
export type TakenReplica = Readonly<{ replica: Replica; replication: TcpProxy }>

/** A second database host of the service: a primary, the proxy that has its address, and a replica. */
export class TenantHost {
  readonly name = 'second'
  /** Commits wait for the replica, once there is one. */
  readonly isSynchronous: boolean
  readonly lostTails: LostTail[] = []
  /** How many jobs lost their backend, or its wait, while their commit waited for the replica. */
  endedCommits = 0
  /** Fail-overs that did not end. */
  readonly troubles: string[] = []
  readonly #folder: string
  readonly #listen: Listener
  readonly #retired: TcpProxy[] = []
  #copies = 0
  #primary: Primary
  #proxy: TcpProxy
  #replication: TcpProxy | undefined
  #replica: Replica | undefined

  /** `listen` gets what the service sends to it, whichever server it is. */
  static async start(folder: string, listen: Listener, isSynchronous: boolean): Promise<TenantHost> {
    const primary = await startPrimary(join(folder, 'second'))
    return new TenantHost(folder, listen, primary, await TcpProxy.open(primary.port, listen), isSynchronous)
  }

  private constructor(
    folder: string,
    listen: Listener,
    primary: Primary,
    proxy: TcpProxy,
    isSynchronous: boolean,
  ) {
    this.isSynchronous = isSynchronous
    this.#folder = folder
    this.#listen = listen
    this.#primary = primary
    this.#proxy = proxy
  }

  get primary(): Primary {
    return this.#primary
  }

  get proxy(): TcpProxy {
    return this.#proxy
  }

  /** The address given to the service. */
  get url(): string {
    return this.#proxy.inFrontOf(this.#primary.url)
  }

  /** The replica gets everything through a proxy, so that it can be made to lack the end. */
  async addReplica(): Promise<void> {
    // The copy would have the setting, and wait for its own replica once it is promoted.
    if (this.isSynchronous) await makeAsynchronous(this.#primary.url)
    this.#copies += 1
    const dataDir = join(this.#folder, `copy-${this.#copies}`)
    this.#replication?.close()
    this.#replication = await TcpProxy.open(this.#primary.port)
    const replica = await Replica.make(dataDir, this.#replication.inFrontOf(this.#primary.url))
    try {
      if (this.isSynchronous) await makeSynchronous(this.#primary.url)
    } catch (error) {
      await replica.remove()
      throw error
    }
    this.#replica = replica
  }

  /** Hands out the replica for promotion: there is no other until one is added. */
  async takeReplica(): Promise<TakenReplica> {
    const replica = this.#replica
    if (!replica || !(await replica.isStreaming())) throw new Error('there is no replica yet')
    if (this.isSynchronous && !(await isSynchronousNow(this.#primary.url))) throw new Error('it lags behind')
    if (this.#replica !== replica) throw new Error('somebody else has it')
    this.#replica = undefined
    return { replica, replication: this.#replication! }
  }

  /** Cuts the replica off for a while: a commit on a synchronous host waits. */
  async cutReplicaOff(forMs: number): Promise<void> {
    if (!this.#replica) throw new Error('there is no replica yet')
    await this.#replication!.isolate(forMs)
  }

  async endWaitingCommit(random: Random): Promise<Ended> {
    const ended = await endWaitingCommit(this.#primary.url, random)
    if (ended === 'job') this.endedCommits += 1
    return ended
  }

  /** Makes this server the primary. */
  async become(primary: Primary): Promise<void> {
    this.#retired.push(this.#proxy)
    this.#primary = primary
    this.#proxy = await TcpProxy.open(primary.port, this.#listen)
  }

  async remove(): Promise<void> {
    for (const proxy of [...this.#retired, this.#proxy]) proxy.close()
    this.#replication?.close()
    await this.#replica?.remove()
    await this.#primary.remove()
  }
}
