import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findBinaries } from '../../src/postgres/cluster/find-binaries.ts'
import { isServerProcess } from '../../src/postgres/cluster/processes.ts'
import { findUser, isRoot, serviceUser } from '../../src/postgres/cluster/system-user.ts'
import { freePort } from '../free-port.ts'
import { runSql } from '../postgres/run-sql.ts'
import type { Daemon } from './daemon.ts'
import { startEtcd } from './etcd.ts'
import { startHaproxy } from './haproxy.ts'
import { type PatroniNode, startNode } from './node.ts'
import { type Programs, providePrograms } from './programs.ts'
import { type ClusterView, isWhole, viewCluster } from './view.ts'

type Parts = Readonly<{ nodes: readonly PatroniNode[]; etcd: Daemon; haproxy: Daemon }>

/** Three nodes with synchronous replication, managed by Patroni, with etcd, and HAProxy in front. */
export class PatroniCluster {
  readonly nodes: readonly PatroniNode[]
  readonly etcd: Daemon
  readonly haproxy: Daemon
  /** HAProxy's port. */
  readonly port: number
  /** Through HAProxy, as the superuser. */
  readonly url: string
  /** Faults from which the cluster did not recover. */
  readonly troubles: string[] = []
  #isInTrouble = false

  /** Everything is in a new folder inside this one. */
  static async start(parent: string): Promise<PatroniCluster> {
    const folder = join(parent, 'patroni')
    await mkdir(folder)
    const programs = await providePrograms(folder)
    const port = await freePort()
    const password = randomBytes(16).toString('hex')
    const parts = await startParts(folder, programs, port, password)
    const cluster = new PatroniCluster(parts, port, password)
    try {
      await cluster.untilWhole(bootstrapMs)
      return cluster
    } catch (error) {
      await cluster.remove()
      throw error
    }
  }

  private constructor({ nodes, etcd, haproxy }: Parts, port: number, password: string) {
    this.nodes = nodes
    this.etcd = etcd
    this.haproxy = haproxy
    this.port = port
    this.url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  }

  /** The node that has the lock in etcd. */
  async findLeader(): Promise<PatroniNode> {
    const { leader } = await this.#view()
    const found = this.nodes.find(({ name }) => name === leader)
    if (!found) throw new Error('there is no leader')
    return found
  }

  /** For one fault at a time; returns the leader. */
  async takeTurn(): Promise<PatroniNode> {
    if (this.#isInTrouble) throw new Error('another fault is not over')
    this.#isInTrouble = true
    return this.findLeader().catch((error: unknown) => {
      this.#isInTrouble = false
      throw error
    })
  }

  endTurn(): void {
    this.#isInTrouble = false
  }

  /** Hands over to the synchronous standby, as `patronictl switchover` does. */
  async switchOver(): Promise<void> {
    const { leader, synchronous: candidate } = await this.#view()
    const { restPort } = await this.findLeader()
    const response = await fetch(`http://127.0.0.1:${restPort}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader, candidate }),
      signal: AbortSignal.timeout(switchoverMs),
    })
    const words = await response.text()
    if (!response.ok) throw new Error(`the switchover was answered with ${response.status} ${words}`)
  }

  /**
   * Waits until all nodes take part, one is a synchronous standby, and HAProxy leads to the primary; and until this has
   * lasted longer than Patroni takes to notice a fault.
   */
  async untilWhole(withinMs: number): Promise<void> {
    let since: number | undefined
    for (const deadline = Date.now() + withinMs; ; ) {
      const view = await this.#view().catch(String)
      const isNow =
        typeof view !== 'string' && isWhole(view, this.nodes.length) && (await this.#takesWrites())
      since = isNow ? (since ?? Date.now()) : undefined
      if (since !== undefined && Date.now() - since > steadyMs) return
      if (Date.now() > deadline) throw new Error(`the cluster is not whole: ${JSON.stringify(view)}`)
      await sleep(250)
    }
  }

  /** Signals a backend on any node. Throws if it has ended: its pid may be another program's by now. */
  signal(name: NodeJS.Signals, pid: number): void {
    if (!this.nodes.some(({ dataPath }) => isServerProcess(pid, dataPath))) {
      throw new Error('the process has gone')
    }
    process.kill(pid, name)
  }

  async remove(): Promise<void> {
    await Promise.all([this.haproxy.remove(), ...this.nodes.map((node) => node.remove())])
    await this.etcd.remove()
  }

  #view(): Promise<ClusterView> {
    return viewCluster(this.nodes.map(({ restPort }) => restPort))
  }

  #takesWrites(): Promise<boolean> {
    return runSql(this.url, 'postgres', 'select pg_current_xact_id()').then(
      () => true,
      () => false,
    )
  }
}

const bootstrapMs = 150_000
/** Each node checks itself every 5 s (`loop_wait`). */
const steadyMs = 7_000
const switchoverMs = 40_000
const nodeNames = ['one', 'two', 'three'] as const

/** If one of them does not start, the started ones are ended. */
async function startParts(
  folder: string,
  programs: Programs,
  port: number,
  password: string,
): Promise<Parts> {
  const identity = isRoot() ? await findUser([serviceUser, 'postgres']) : undefined
  const [binaries] = await findBinaries()
  const etcdPort = await freePort()
  const etcd = await startEtcd(folder, programs, identity, etcdPort, await freePort())
  const common = { folder, programs, identity, binDir: binaries!.directory, etcdPort, password }
  const nodes: PatroniNode[] = []
  try {
    for (const name of nodeNames) {
      nodes.push(await startNode(common, name, await freePort(), await freePort()))
    }
    return { nodes, etcd, haproxy: await startHaproxy(folder, programs, identity, port, nodes) }
  } catch (error) {
    await Promise.all([etcd.remove(), ...nodes.map((node) => node.remove())])
    throw error
  }
}
