import { spawnSync } from 'node:child_process'
import { Failure, runStep, say } from './run.mjs'

const packages = ['postgresql', 'postgresql-postgis', 'postgresql-postgis-scripts']
const dropInFolder = '/etc/postgresql-common/createcluster.d'
const dropIn = `${dropInFolder}/cartage.conf`

/** Sees to it that there is a PostgreSQL with PostGIS: Debian's is installed where we may, asked for where we may not. */
export async function providePostgres() {
  if (await isPostgresThere()) return
  const asRoot = waysToBeRoot()
  if (!asRoot || !isThere('apt-get'))
    throw new Failure(whatToDo('There is no PostgreSQL with PostGIS on this machine'))
  say(`installing PostgreSQL with PostGIS: ${packages.join(' ')}`)
  await installPackages(asRoot)
  if (!(await isPostgresThere()))
    throw new Failure(whatToDo(`${packages.join(', ')} are installed, but no PostGIS was found`))
}

/** dist/ has just been built: the service itself knows best what it can use. */
async function isPostgresThere() {
  const { findBinaries } = await import('../dist/postgres/find-binaries.js')
  return (await findBinaries()).length > 0
}

function waysToBeRoot() {
  if (process.getuid?.() === 0) return []
  return isThere('sudo', '-n', 'true') ? ['sudo', '-n'] : undefined
}

async function installPackages(asRoot) {
  const withoutQuestions = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C.UTF-8']
  const patiently = ['-o', 'DPkg::Lock::Timeout=120', '-o', 'Acquire::Retries=3']
  const keepingSettings = ['-o', 'Dpkg::Options::=--force-confold']
  // The package would else make and start a cluster of its own on port 5432.
  await show([...asRoot, 'mkdir', '-p', dropInFolder])
  await show([...asRoot, 'sh', '-c', `echo 'create_main_cluster = false' > ${dropIn}`])
  try {
    await showTwice([...withoutQuestions, 'apt-get', 'update', ...patiently])
    await showTwice([
      ...withoutQuestions,
      'apt-get',
      'install',
      '--yes',
      '--no-install-recommends',
      ...patiently,
      ...keepingSettings,
      ...packages,
    ])
  } finally {
    await show([...asRoot, 'rm', '-f', dropIn])
    await show([...asRoot, 'rmdir', '--ignore-fail-on-non-empty', dropInFolder])
  }
}

/** A mirror may be out of reach for a moment. */
async function showTwice(command) {
  try {
    await show(command)
  } catch (error) {
    if (error.exitCode > 128) throw error
    say('that failed: trying once more')
    await show(command)
  }
}

async function show([program, ...args]) {
  say(`$ ${[program, ...args].map(quote).join(' ')}`)
  await runStep(program, args)
}

/** As one would type it. */
function quote(word) {
  return /^[\w./:=@-]+$/.test(word) ? word : `"${word}"`
}

function isThere(program, ...args) {
  return spawnSync(program, args.length > 0 ? args : ['--version'], { stdio: 'ignore' }).status === 0
}

function whatToDo(found) {
  return `${found}: install it (Debian: apt-get install ${packages.join(' ')}), or set CARTAGE_DATABASE_URL to a PostgreSQL 14 or later that has it.`
}
