import type { TestContext } from 'node:test'
import { CartageProcess } from '../../../chaos/process.ts'
import { eventually, type Setup } from '../service/setup.ts'

/** Starts a real worker process on the set-up's control database and waits until it is registered. */
export async function startWorkerProcess(
  t: TestContext,
  { keys, service, admin }: Setup,
  environment: NodeJS.ProcessEnv = {},
): Promise<CartageProcess> {
  const { namespace } = service.services.config
  const worker = new CartageProcess('worker', {
    ...process.env,
    CARTAGE_DATABASE_URL: keys.adminUrl,
    CARTAGE_SECRET: keys.secret,
    CARTAGE_NAMESPACE: namespace,
    CARTAGE_LOG_LEVEL: 'silent',
    ...environment,
  })
  worker.isRevived = false
  t.after(() => worker.end('SIGKILL'))
  await eventually(async () => {
    const { rowCount } = await admin(
      'select from cartage.workers where name like $1',
      [`% ${worker.pid}`],
      namespace,
    )
    if (rowCount === 0) throw new Error('the worker has not started')
  }, 60_000)
  return worker
}
