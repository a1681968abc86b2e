import { installPackages, show, waysToInstall } from './apt.mjs'
import { Failure, say } from './run.mjs'

const packages = ['postgresql', 'postgresql-postgis', 'postgresql-postgis-scripts']
const dropInFolder = '/etc/postgresql-common/createcluster.d'
const dropIn = `${dropInFolder}/cartage.conf`

/** Ensures a PostgreSQL with PostGIS: installs Debian's where that is allowed, else asks for it. */
export async function providePostgres() {
  if (await isPostgresThere()) return
  const asRoot = waysToInstall()
  if (!asRoot) throw new Failure(whatToDo('There is no PostgreSQL with PostGIS on this machine'))
  say(`installing PostgreSQL with PostGIS: ${packages.join(' ')}`)
  await installPostgres(asRoot)
  if (!(await isPostgresThere()))
    throw new Failure(whatToDo(`${packages.join(', ')} are installed, but no PostGIS was found`))
}

/** dist/ has just been built, so the service itself checks whether it can use it. */
async function isPostgresThere() {
  const { findBinaries } = await import('../dist/postgres/cluster/find-binaries.js')
  return (await findBinaries()).length > 0
}

async function installPostgres(asRoot) {
  // Otherwise the package would create and start its own cluster on port 5432.
  await show([...asRoot, 'mkdir', '-p', dropInFolder])
  await show([...asRoot, 'sh', '-c', `echo 'create_main_cluster = false' > ${dropIn}`])
  try {
    await installPackages(asRoot, packages)
  } finally {
    await show([...asRoot, 'rm', '-f', dropIn])
    await show([...asRoot, 'rmdir', '--ignore-fail-on-non-empty', dropInFolder])
  }
}

function whatToDo(found) {
  return `${found}: install it (Debian: apt-get install ${packages.join(' ')}), or set CARTAGE_DATABASE_URL to a PostgreSQL 15 or later that has it.`
}
