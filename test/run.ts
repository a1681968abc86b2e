import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { chmod, mkdtemp, readdir, realpath, rm, statfs } from 'node:fs/promises'
import { availableParallelism, freemem, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { createLog } from '../src/log/log.ts'
import { startEmbeddedCluster } from '../src/postgres/cluster/embedded-cluster.ts'
import { compileTests } from './support/runner/compile-tests.ts'
import { FileTimes } from './support/runner/file-times.ts'
import { groupFiles } from './support/runner/group-files.ts'
import { prepareNamespace } from './support/runner/namespace.ts'
import { endProcesses, removeNames } from './support/runner/remains.ts'

// Runs the test files, or those whose path contains one of the arguments, on a cluster of their own; then looks for
// what they left behind: databases, roles and processes.
process.exitCode = await runTests(process.argv.slice(2))

async function runTests(filters: readonly string[]): Promise<number> {
  const files = await findTestFiles(filters)
  if (files.length === 0) return complain(`no test file matches ${filters.join(', ')}`)
  const interrupted = new AbortController()
  // Every file listens to this signal.
  setMaxListeners(0, interrupted.signal)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())

  const namespace = `ct_${randomBytes(3).toString('hex')}`
  const cluster = await openCluster(namespace, interrupted.signal)
  // All other temporary files are in one folder, so that it can be removed and processes that work in it can be found.
  const folder = await makeFolder(await placeForFiles())
  try {
    giveToTests({ url: cluster.url, namespace, folder })
    if (files.length > 1) await prepareNamespace(cluster.url, namespace)
    const compiled = await compileTests(files, process.env.CARTAGE_TEST_COMPILED!)
    const groups = await groupFiles(files, compiled, folder)
    // Two more than cores: tests wait for leases, outages and time limits, and with one more the cores were idle a
    // quarter of the time.
    const failed = await runFiles(groups, availableParallelism() + 2, interrupted.signal)
    const hasPassed = failed.size === 0 || (await passAlone(failed, compiled, interrupted.signal))
    const left = [...(await removeNames(cluster.url, namespace)), ...(await endProcesses(namespace))]
    if (interrupted.signal.aborted) return 130
    if (left.length > 0) return complain(`the tests left behind: ${left.join(', ')}`)
    return hasPassed ? 0 : 1
  } finally {
    await cluster.stop()
    await endProcesses(namespace, folder)
    await rm(folder, { recursive: true, force: true })
  }
}

type TestCluster = Readonly<{ url: string; stop: () => Promise<void> }>

async function openCluster(namespace: string, signal: AbortSignal): Promise<TestCluster> {
  const url = process.env.CARTAGE_DATABASE_URL?.trim()
  if (url) return { url, stop: async () => undefined }
  const folder = await makeFolder(await placeForFiles())
  const remove = () => rm(folder, { recursive: true, force: true })
  const cluster = await startEmbeddedCluster({
    dataDir: folder,
    log: createLog('warn'),
    isEphemeral: true,
    // Some tests put a proxy between the service and its database.
    isOnTcp: true,
    // Each test process has several services, each with its own connections.
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
    signal,
  }).catch(async (error: unknown) => {
    await remove()
    throw error
  })
  const stop = async () => {
    await cluster.stop()
    await endProcesses(namespace, folder)
    await remove()
  }
  return { url: cluster.url, stop }
}

/**
 * In memory if there is plenty: a test user is a database of a thousand files and 15 MB, and embedded clusters wait for
 * their disk.
 */
async function placeForFiles(): Promise<string> {
  const memory = '/dev/shm'
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }))
  return Math.min(bavail * bsize, freemem()) > 8 * 1024 ** 3 ? memory : tmpdir()
}

async function makeFolder(place: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(place, 'cartage-test-')))
  await chmod(folder, 0o711)
  return folder
}

async function findTestFiles(filters: readonly string[]): Promise<string[]> {
  const found = await readdir(import.meta.dirname, { recursive: true })
  return found
    .filter((path) => path.endsWith('.test.ts'))
    .filter((path) => filters.length === 0 || filters.some((filter) => join('test', path).includes(filter)))
    .sort()
    .map((path) => join(import.meta.dirname, path))
}

function giveToTests({ url, namespace, folder }: { url: string; namespace: string; folder: string }): void {
  process.env.CARTAGE_TEST_DATABASE_URL = url
  process.env.CARTAGE_TEST_NAMESPACE = namespace
  process.env.CARTAGE_TEST_COMPILED = join(folder, 'compiled')
  process.env.TMPDIR = folder
  delete process.env.TSX_DISABLE_CACHE
  // Every Node process would read them at its start, which takes longer than the start itself. npm gets them back.
  process.env.CARTAGE_TEST_CA_CERTS = process.env.NODE_EXTRA_CA_CERTS ?? ''
  delete process.env.NODE_EXTRA_CA_CERTS
  // The test processes inherit them.
  const withoutHooks = join(import.meta.dirname, 'support/runner/without-hooks.cjs')
  process.execArgv = ['--enable-source-maps', '--require', withoutHooks]
  // The configuration of a service outside must not reach the services of the tests.
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('CARTAGE_') && !name.startsWith('CARTAGE_TEST_')) delete process.env[name]
  }
}

/**
 * A browser or a shared server may be too slow for a test while others use all cores. If few files have failed, they
 * run again alone on the machine, and the output says so.
 */
async function passAlone(
  failed: ReadonlySet<string>,
  compiled: (file: string) => string,
  signal: AbortSignal,
): Promise<boolean> {
  const files = [...failed]
  const names = files.map((file) => relative(import.meta.dirname, file))
  // A name that is in none of the files is a process of several files that crashed or did not end.
  const isWhole = names.some((name) => name.startsWith('..'))
  if (signal.aborted || names.length > 20 || isWhole) return false
  console.log(`\nfailed beside others, so run again alone: ${names.join(', ')}\n`)
  const hasPassed = (await runFiles(files.map(compiled), 1, signal)).size === 0
  if (hasPassed)
    console.log(`\na defect: these files failed beside others and passed alone: ${names.join(', ')}`)
  return hasPassed
}

/** Returns the files in which something failed. */
async function runFiles(files: string[], concurrency: number, signal: AbortSignal): Promise<Set<string>> {
  const failed = new Set<string>()
  let count = 0
  const events = run({ files, concurrency, timeout: 900_000, signal })
  events.on('test:pass', ({ skip, name }) => {
    // A file without a single test is reported as a test with its own name.
    if (skip === undefined && !files.some((file) => [file, relative('.', file)].includes(name))) count++
  })
  events.on('test:fail', ({ file, name }) => {
    count++
    failed.add(file ?? name)
  })
  const times = new FileTimes(events)
  await pipeline(events, new spec(), process.stdout, { end: false })
  // After a failure, the names of the failed tests end the output.
  if (failed.size === 0) console.log(times.describe(import.meta.dirname))
  if (count === 0) {
    complain('not a single test was run')
    failed.add('none')
  }
  return failed
}

function complain(text: string): number {
  console.error(`\n✖ ${text}`)
  return 1
}
