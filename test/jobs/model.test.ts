import { test } from 'node:test'
import fc from 'fast-check'
import type { JobDefinition } from '../../src/jobs/job.ts'
import { registerWorker } from '../../src/jobs/worker-store.ts'
import { JobModel, type Store } from '../support/jobs/job-model.ts'
import { cases } from '../support/search/cases.ts'
import { type Setup, setup } from '../support/service/setup.ts'

const workers = 2

const statement = fc.constantFrom('select 1', 'select 2')
const item = fc.record(
  { statement, onsuccess: statement, onerror: statement },
  { requiredKeys: ['statement'] },
)
const items = fc.array(item, { minLength: 1, maxLength: 3 })
const definition = fc.oneof(
  statement.map((text): JobDefinition => ({ form: 'string', items: [{ statement: text }] })),
  items.map((list): JobDefinition => ({ form: 'array', items: list })),
  fc
    .record({ items, onsuccess: statement, onerror: statement }, { requiredKeys: ['items'] })
    .map((job): JobDefinition => ({ form: 'object', ...job })),
)

const worker = fc.nat(workers - 1)
const place = fc.nat(9)
const act = <Args extends unknown[]>(
  name: string,
  args: fc.Arbitrary<Args>,
  play: (model: JobModel, ...args: Args) => Promise<void>,
) =>
  args.map((values) => ({
    name: `${name} ${JSON.stringify(values)}`,
    play: (m: JobModel) => play(m, ...values),
  }))

const acts = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: act('submit', fc.tuple(definition), (model, query) => model.submit(query)) },
    {
      weight: 2,
      arbitrary: act('submit to', fc.tuple(worker, definition), (model, to, query) =>
        model.submitTo(to, query),
      ),
    },
    { weight: 4, arbitrary: act('claim', fc.tuple(worker), (model, by) => model.claim(by)) },
    {
      weight: 6,
      arbitrary: act('begin', fc.tuple(worker, fc.boolean()), (model, by, commits) =>
        model.begin(by, commits),
      ),
    },
    {
      weight: 6,
      arbitrary: act('end step', fc.tuple(worker, fc.integer({ min: 0, max: 9 })), (model, by, chance) =>
        model.endStep(by, chance === 0),
      ),
    },
    { weight: 2, arbitrary: act('retry', fc.tuple(worker), (model, by) => model.retry(by)) },
    { weight: 2, arbitrary: act('due', fc.tuple(place), (model, of) => model.queueDue(of)) },
    { weight: 1, arbitrary: act('release', fc.tuple(worker), (model, by) => model.releaseJob(by)) },
    { weight: 2, arbitrary: act('crash', fc.tuple(worker), (model, by) => model.crash(by)) },
    { weight: 2, arbitrary: act('cancel', fc.tuple(place), (model, of) => model.cancel(of)) },
    {
      weight: 1,
      arbitrary: act('update', fc.tuple(place, definition), (model, of, query) => model.update(of, query)),
    },
    { weight: 2, arbitrary: act('write late', fc.tuple(place), (model, of) => model.writeLate(of)) },
  ),
  { minLength: 10, maxLength: 45 },
)

test('the store and the state machine agree after any sequence of acts', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  await fc.assert(
    fc.asyncProperty(acts, async (script) => {
      const model = await newModel(bundle)
      for (const { play } of script) {
        await play(model)
        await model.check()
      }
    }),
    { numRuns: cases(12), endOnFailure: true },
  )
})

/** Deletes what the run before left: only one user has jobs here. */
async function newModel({ admin, service, user }: Setup): Promise<JobModel> {
  const { databases, config, jobQueue } = service.services
  const { control } = databases
  await control.query(
    'delete from cartage.jobs; delete from cartage.job_queues; delete from cartage.workers; delete from cartage.webhooks',
  )
  await control.query(
    `insert into cartage.webhooks (user_id, url, events, include_sql)
     values ($1, 'http://hooks.example/', '{job.done,job.failed,job.cancelled,job.unknown}', false)`,
    [user.account.userId],
  )
  const newWorker = async () => {
    const client = await control.connect()
    try {
      return await registerWorker(client, 'model')
    } finally {
      client.release()
    }
  }
  const store: Store = {
    databases,
    config,
    jobQueue,
    account: user.account,
    newWorker,
    newFlight: async (isCommitted) => {
      const result = await admin(
        `begin; select pg_current_xact_id()::text as xid; ${isCommitted ? 'commit' : 'rollback'}`,
      )
      const { xid } = (result as unknown as { rows: { xid: string }[] }[])[1]!.rows[0]!
      return { pid: 0, backendStart: new Date().toISOString(), xid }
    },
  }
  return new JobModel(store, await Promise.all(Array.from({ length: workers }, newWorker)))
}
