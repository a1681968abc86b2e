import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createMetrics } from '../../../src/metrics/metrics.ts'

const run = promisify(execFile)
const fileOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
const read = (path: string) => readFile(fileOf(path), 'utf8')
const unpacked = fileOf('node_modules/.cache/proxies/usr/bin')
const env = { ...process.env, PATH: `${process.env.PATH}:${unpacked}` }
const rulesFile = 'deploy/monitoring/rules.yaml'

const missing = await run('promtool', ['--version'], { env }).then(
  () => undefined,
  () => 'promtool is not installed',
)
const title = (sentence: string) => (missing ? `${sentence} [NOT RUN: ${missing}]` : sentence)

test('every metric and label in the alerts and the dashboard exists', async () => {
  const known = await knownLabels()
  for (const expression of [...(await alertExpressions()), ...(await panelExpressions())]) {
    const names = metricsIn(expression)
    assert.ok(names.length > 0, expression)
    for (const name of names) assert.ok(known.has(name), `${name} in ${expression}`)
    const labels = new Set(['job', 'instance', 'le', ...names.flatMap((name) => known.get(name)!)])
    for (const label of labelsIn(expression)) assert.ok(labels.has(label), `${label} in ${expression}`)
  }
})

test('every metric of the service is on the dashboard', async () => {
  const shown = new Set((await panelExpressions()).flatMap(metricsIn))
  const own = [...(await knownLabels()).keys()].filter((name) => name.startsWith('cartage_'))
  assert.deepEqual(
    own.filter((name) => !shown.has(name)),
    [],
  )
})

test('the runbook has a section for each alert, and no other', async () => {
  const alerts = [...(await read(rulesFile)).matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
  const sections = [...(await read('docs/runbook.md')).matchAll(/^## (\w+)$/gm)].map(([, name]) => name)
  assert.ok(alerts.length > 10)
  assert.deepEqual(sections, alerts)
})

test(
  title('Prometheus accepts the rules, the scrape configuration and each query of the dashboard'),
  async (t) => {
    if (missing) return t.skip(missing)
    await run('promtool', ['check', 'rules', fileOf(rulesFile)], { env })
    await run('promtool', ['check', 'config', fileOf('deploy/monitoring/prometheus.yaml')], { env })
    const folder = await mkdtemp(join(tmpdir(), 'promtool-'))
    t.after(() => rm(folder, { recursive: true }))
    const records = (await panelExpressions()).map((expression, index) => ({
      record: `panel_${index}`,
      expr: expression.replaceAll('$__rate_interval', '5m'),
    }))
    const file = join(folder, 'panels.yaml')
    // JSON is valid YAML.
    await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules: records }] }))
    await run('promtool', ['check', 'rules', file], { env })
  },
)

test(title('alerts are sent when what they speak of happens, and not else'), async (t) => {
  if (missing) return t.skip(missing)
  const folder = await mkdtemp(join(tmpdir(), 'promtool-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'rules-test.yaml')
  await writeFile(file, JSON.stringify(ruleTests()))
  const { stdout } = await run('promtool', ['test', 'rules', file], { env })
  assert.match(stdout, /SUCCESS/)
})

const requests = (status: string) => `cartage_requests_total{status="${status}",route="/r"}`

const cases: readonly Case[] = [
  {
    alert: 'CartageDown',
    summary: 'a does not answer',
    series: { 'up{job="cartage",instance="a"}': '0x120' },
    labels: { severity: 'page', job: 'cartage', instance: 'a' },
  },
  {
    alert: 'CartageBug',
    summary: '/r answered with 500',
    series: { [requests('500')]: '0x100 1x20' },
    labels: { route: '/r' },
  },
  {
    alert: 'CartageUnavailable',
    summary: 'More than 1 % of the requests get 503',
    series: { [requests('503')]: '0+2x120' },
    labels: { severity: 'page' },
  },
  {
    alert: 'CartageConnectionsExhausted',
    summary: 'Requests of a wait for a connection of the pool query',
    series: { 'cartage_pool_waiting{pool="query",instance="a"}': '3x120' },
    labels: { pool: 'query', instance: 'a' },
  },
  {
    alert: 'CartageJobsWait',
    summary: '200 jobs wait, and none has ended in 10 minutes',
    series: { 'cartage_jobs{state="pending"}': '200x120', cartage_jobs_finished_total: '5x120' },
    labels: { severity: 'page' },
  },
  {
    alert: 'CartageTransactionIdsOld',
    summary: 'Host 1 must be vacuumed before it stops taking writes',
    series: { 'cartage_host_xid_age{host="1"}': '1100000000x120' },
    labels: { severity: 'page', host: '1' },
  },
  {
    alert: 'CartageHostUnwatched',
    summary: 'A process of Cartage does not watch all database hosts',
    series: { 'cartage_guard_hosts{instance="a"}': '2x120', 'cartage_guard_hosts{instance="b"}': '1x120' },
  },
  {
    alert: 'CartageTokensTried',
    summary: 'Somebody tries tokens: 10 a second are refused',
    series: { cartage_authentications_refused_total: '0+150x120' },
  },
]

/** Invented figures of half an hour, and the alerts expected at its end. */
function ruleTests(): object {
  const quiet = { [requests('200')]: '0+100x120', 'up{job="cartage",instance="a"}': '1x120' }
  const test = (alert: string, series: Case['series'], sent: readonly object[]) => ({
    interval: '15s',
    input_series: Object.entries({ ...quiet, ...series }).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: '30m', alertname: alert, exp_alerts: sent }],
  })
  return {
    rule_files: [fileOf(rulesFile)],
    tests: cases.flatMap(({ alert, summary, series, labels = {} }) => [
      test(alert, series, [{ exp_labels: { severity: 'ticket', ...labels }, exp_annotations: { summary } }]),
      test(alert, {}, []),
    ]),
  }
}

type Case = Readonly<{
  alert: string
  summary: string
  series: Readonly<Record<string, string>>
  labels?: Readonly<Record<string, string>>
}>

const alertExpressions = async () =>
  [...(await read(rulesFile)).matchAll(/^ +expr: (.+)$/gm)].map(([, expression]) => expression!)

type Panel = Readonly<{ targets?: readonly Readonly<{ expr: string }>[] }>

async function panelExpressions(): Promise<string[]> {
  const { panels } = JSON.parse(await read('deploy/monitoring/grafana.json')) as { panels: Panel[] }
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
}

const metricsIn = (expression: string) =>
  [...expression.matchAll(/\b(?:up\{|(?:cartage|nodejs|process)_\w+)/g)].map(([name]) =>
    name.replace('{', '').replace(/_(bucket|sum|count)$/, ''),
  )

const labelsIn = (expression: string) => [
  ...[...expression.matchAll(/by \(([^)]+)\)/g)].flatMap(([, list]) => list!.split(/,\s*/)),
  ...[...expression.matchAll(/[{,](\w+)=/g)].map(([, name]) => name!),
]

/** The labels of each metric, from instruments that counted once each. `up` is from Prometheus itself. */
async function knownLabels(): Promise<Map<string, string[]>> {
  const metrics = createMetrics()
  metrics.requestFinished({ method: 'GET', route: '/', status: 200, keyType: 'none', seconds: 1 })
  metrics.jobFinished({ status: 'done', waitMs: 1, runMs: 1 })
  metrics.jobTakenOver()
  metrics.copyFinished({ direction: 'to', isComplete: true, bytes: 1, rows: 1, ms: 1 })
  metrics.authenticationRefused()
  metrics.rateLimited('sql')
  metrics.watchPools(() => [{ name: 'query', open: 1, idle: 1, waiting: 0, destroyed: 1 }])
  metrics.watchQueue(async () => ({ pending: 1, running: 1 }))
  metrics.watchHosts(async () => new Map([['1', { notifyQueue: 0, xidAge: 1, snapshotSeconds: 1 }]]))
  metrics.guardEnded('lock')
  metrics.watchGuard(() => 1)
  metrics.sessionEnded('client')
  metrics.watchSessions(() => ({ open: 1, inTransaction: 0 }))
  const known = new Map<string, string[]>([['up', []]])
  const { text } = await metrics.render()
  for (const [, name, labels = ''] of text.matchAll(/^(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*?)\})? \S+$/gm)) {
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label!)
    known.set(name!, [...new Set([...(known.get(name!) ?? []), ...names])])
  }
  return known
}
