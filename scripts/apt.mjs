import { spawnSync } from 'node:child_process'
import { runStep, say } from './run.mjs'

/** The prefix with which root runs a command; undefined: packages cannot be installed here. */
export function waysToInstall() {
  if (!isThere('apt-get')) return undefined
  if (process.getuid?.() === 0) return []
  return isThere('sudo', '-n', 'true') ? ['sudo', '-n'] : undefined
}

export async function installPackages(asRoot, packages) {
  const withoutQuestions = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C.UTF-8']
  const patiently = ['-o', 'DPkg::Lock::Timeout=120', '-o', 'Acquire::Retries=3']
  const keepingSettings = ['-o', 'Dpkg::Options::=--force-confold']
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
}

/** For tests: installs the program where that is allowed; elsewhere those tests report that they did not run. */
export async function provideIfPossible(name, program, packages) {
  if (isThere(program)) return
  const asRoot = waysToInstall()
  if (!asRoot) return
  say(`installing ${name} for the tests: ${packages.join(' ')}`)
  try {
    await installPackages(asRoot, packages)
  } catch (error) {
    if (error.exitCode > 128) throw error
    say(`${name} could not be installed (${error.message}): its tests will not run`)
  }
}

/** Tries twice: a mirror may be unreachable for a moment. */
async function showTwice(command) {
  try {
    await show(command)
  } catch (error) {
    if (error.exitCode > 128) throw error
    say('that failed: trying once more')
    await show(command)
  }
}

export async function show([program, ...args]) {
  say(`$ ${[program, ...args].map(quote).join(' ')}`)
  await runStep(program, args)
}

/** As one would type it. */
function quote(word) {
  return /^[\w./:=@-]+$/.test(word) ? word : `"${word}"`
}

export function isThere(program, ...args) {
  return spawnSync(program, args.length > 0 ? args : ['--version'], { stdio: 'ignore' }).status === 0
}
