import { join } from 'node:path'
import { PatroniCluster } from './patroni/cluster.ts'
import { type Primary, startPrimary } from './postgres/primary.ts'
import { TenantHost } from './postgres/tenant-host.ts'
import type { Listener } from './proxy/link.ts'

/** `postgres`: two hosts of chaos' own, the second with a replica; `patroni`: one cluster that fails over by itself. */
export const engineNames = ['postgres', 'patroni'] as const
export type EngineName = (typeof engineNames)[number]

/** The PostgreSQL server that accepts writes. `signal` is for one of its backends, and throws if that has ended. */
export type DatabaseServer = Readonly<{
  url: string
  port: number
  signal: (name: NodeJS.Signals, pid: number) => void
}>

/** The databases of the service. */
export type Engine = Readonly<{
  /** The server of the control database, and the first host. */
  control: DatabaseServer
  /** With engine `postgres`. */
  hosts?: Hosts
  patroni?: PatroniCluster
}>

export type Hosts = Readonly<{ first: Primary; second: TenantHost }>

export type EngineOptions = Readonly<{ engine: EngineName; isSynchronous: boolean }>

/** Adds to `closers` a function for each part as soon as it exists. */
export async function startEngine(
  { engine, isSynchronous }: EngineOptions,
  folder: string,
  listen: Listener,
  closers: (() => Promise<void>)[],
): Promise<Engine> {
  if (engine === 'patroni') {
    const patroni = await PatroniCluster.start(folder)
    closers.push(() => patroni.remove())
    return { control: patroni, patroni }
  }
  const first = await startPrimary(join(folder, 'control'))
  closers.push(() => first.remove())
  const second = await TenantHost.start(folder, listen, isSynchronous)
  closers.push(() => second.remove())
  return { control: first, hosts: { first, second } }
}
