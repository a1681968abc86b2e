import { installPackages, isThere, waysToInstall } from './apt.mjs'
import { Failure, say } from './run.mjs'

const packages = ['chromium', 'fonts-dejavu-core']

/** The browser in which the console is tested: Debian's is installed where we may, asked for where we may not. */
export async function provideChromium() {
  if (process.env.CARTAGE_TEST_CHROMIUM || isThere('chromium')) return
  const asRoot = waysToInstall()
  if (!asRoot) throw new Failure(whatToDo)
  say(`installing Chromium for the tests of the console: ${packages.join(' ')}`)
  await installPackages(asRoot, packages)
}

const whatToDo = `There is no Chromium on this machine: install it (Debian: apt-get install ${packages.join(' ')}), or set CARTAGE_TEST_CHROMIUM to the path of one.`
