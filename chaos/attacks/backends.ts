import type { DatabaseServer } from '../engine.ts'
import { runSql } from '../postgres/run-sql.ts'
import { stopForAWhile } from '../postgres/stop-processes.ts'
import { pickServer, type Scene } from './scene.ts'

export async function cutJob(scene: Scene): Promise<void> {
  await terminate(scene, pickServer(scene), `application_name = 'cartage job'`)
}

export async function cutAtCommit(scene: Scene): Promise<void> {
  const committing = `application_name = 'cartage job' and state = 'active' and query like '%commit'`
  for (let looks = 0; looks < 10; looks++) {
    if (await terminate(scene, pickServer(scene), committing)) return
  }
}

export async function cutControl(scene: Scene): Promise<void> {
  await terminate(scene, scene.stage.control, `application_name = 'cartage control'`)
}

/** PostgreSQL ends all other backends with it. */
export async function killBackend(scene: Scene): Promise<void> {
  const server = pickServer(scene)
  const { pid } = await pickBackend(scene, server, `application_name like 'cartage%'`)
  scene.recovery.disturb()
  server.signal('SIGKILL', pid)
}

export async function stopBackend(scene: Scene): Promise<void> {
  const { random, aftermath, recovery } = scene
  const { pid } = await pickBackend(scene, pickServer(scene), `application_name like 'cartage%'`)
  recovery.disturb()
  aftermath.add('stop backend', stopForAWhile([pid], random.between(200, 8_000)))
}

/**
 * The client of a stopped backend is reset after it has sent something, and repeats it elsewhere; then the backend
 * continues and executes it.
 */
export async function stopBackendAndResetClient(scene: Scene): Promise<void> {
  const { stage, random, aftermath, recovery } = scene
  const backend = await pickBackend(scene, stage.control, `application_name = 'cartage control'`)
  const links = [...stage.servers, ...stage.workers].flatMap(({ control }) => control.links)
  const link = links.find(({ serverSidePort }) => serverSidePort === backend.client_port)
  if (!link) throw new Error('its connection has gone')
  recovery.disturb()
  const stopMs = random.between(300, 3_000)
  aftermath.add('stop backend and reset client', stopForAWhile([backend.pid], stopMs))
  aftermath.add('stop backend and reset client', link.resetAfterNextWords(stopMs + 2_000))
}

type Backend = Readonly<{ pid: number; client_port: number }>

async function pickBackend({ random }: Scene, { url }: DatabaseServer, condition: string): Promise<Backend> {
  const { rows } = await runSql(
    url,
    'postgres',
    `select pid, client_port from pg_stat_activity
     where backend_type = 'client backend' and ${condition} order by pid`,
  )
  if (rows.length === 0) throw new Error('there is no such backend')
  return random.pick(rows)
}

async function terminate({ random }: Scene, { url }: DatabaseServer, condition: string): Promise<boolean> {
  const { rowCount } = await runSql(
    url,
    'postgres',
    `select pg_terminate_backend(pid) from (
       select pid from pg_stat_activity where ${condition} order by md5(pid::text || $1) limit 1
     ) victim`,
    [String(random.next())],
  )
  return rowCount === 1
}
