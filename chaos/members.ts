import type { DatabaseServer } from './engine.ts'
import { freePort } from './free-port.ts'
import { CartageProcess, type Role } from './process.ts'
import type { Listener } from './proxy/link.ts'
import { TcpProxy } from './proxy/tcp-proxy.ts'

/** A process of the service, and the proxy between it and the control database and first host. */
export type Member = Readonly<{ process: CartageProcess; control: TcpProxy; close: () => Promise<void> }>

export type ServerMember = Member &
  Readonly<{
    /** The proxy between clients and this process. */
    door: TcpProxy
    /** The URL through the proxy, and the direct one. */
    url: string
    straightUrl: string
  }>

/** What the processes of one installation share. */
export type Installation = Readonly<{
  control: Pick<DatabaseServer, 'url' | 'port'>
  namespace: string
  secret: string
  jobsPerUser: number
  /** The allowed targets of webhooks. */
  webhooks: string
  /** The folder of imported files. */
  spool: string
  /** Gets what the processes send to the first host. */
  listen: Listener
}>

export async function startMember(installation: Installation, role: Role, port = 0): Promise<Member> {
  const control = await TcpProxy.open(installation.control.port, installation.listen)
  const environment = environmentOf(installation, control.inFrontOf(installation.control.url), port)
  const process = new CartageProcess(role, environment)
  const close = async () => {
    await process.end('SIGKILL')
    control.close()
  }
  return { process, control, close }
}

export async function startServer(installation: Installation, role: Role): Promise<ServerMember> {
  const port = await freePort()
  const door = await TcpProxy.open(port)
  const member = await startMember(installation, role, port)
  const close = async () => {
    await member.close()
    door.close()
  }
  const urlOf = (at: number) => `http://127.0.0.1:${at}`
  return { ...member, door, url: urlOf(door.port), straightUrl: urlOf(port), close }
}

/** The token of the installation's operator. */
export const adminToken = 'the token of the operator in chaos'

function environmentOf(
  { namespace, secret, jobsPerUser, webhooks, spool }: Installation,
  adminUrl: string,
  port: number,
): NodeJS.ProcessEnv {
  return {
    ...process.env,
    CARTAGE_DATABASE_URL: adminUrl,
    CARTAGE_SECRET: secret,
    CARTAGE_ADMIN_TOKEN: adminToken,
    CARTAGE_NAMESPACE: namespace,
    CARTAGE_PORT: String(port),
    CARTAGE_LOG_LEVEL: process.env.CHAOS_LOG_LEVEL ?? 'silent',
    CARTAGE_JOB_QUEUE_LIMIT: '100000',
    CARTAGE_JOBS_PER_USER: String(jobsPerUser),
    CARTAGE_WEBHOOKS: webhooks,
    CARTAGE_IMPORT_DIR: spool,
    // An upload whose creation was not answered stays for a day.
    CARTAGE_UPLOADS_PER_USER: '1000',
    CARTAGE_SHUTDOWN_GRACE_MS: '200',
  }
}
