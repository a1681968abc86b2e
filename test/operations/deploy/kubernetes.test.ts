import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { installClient } from '../../support/clients/npm-client.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = join(root, 'deploy/kubernetes')

type Resource = Readonly<{ apiVersion: string; kind: string; metadata: Readonly<{ name: string }> }>
type Model = new (resource: Resource) => Readonly<{ validate: () => void }>

test('Kubernetes and CloudNativePG know every member of the resources in deploy/kubernetes', async (t) => {
  const { folder: installed, missing } = await installClient('@kubernetes-models/cloudnative-pg', '2.0.0')
  if (missing !== undefined) return t.skip(`NOT RUN: ${missing}`)
  const resources = await readResources()
  assert.deepEqual(resources.map(({ kind }) => kind).sort(), [
    'Cluster',
    'ConfigMap',
    'Deployment',
    'PodDisruptionBudget',
    'Service',
    'Service',
    'StatefulSet',
  ])
  const modules = dirname(dirname(installed))
  for (const resource of resources) {
    const found = await import(pathToFileURL(join(modules, moduleOf(resource), `${resource.kind}.js`)).href)
    const model = new (found[resource.kind] as Model)(resource)
    assert.doesNotThrow(() => model.validate(), `${resource.kind} ${resource.metadata.name}`)
  }
  // Its schemas allow unknown members, its types do not.
  assert.equal(await typeErrorsOf(resources, modules), '')
  const misspelled = { ...resources[0]!, specs: {} }
  assert.match(await typeErrorsOf([misspelled], modules), /specs.* does not exist/)
})

async function readResources(): Promise<Resource[]> {
  const files = await readdir(folder)
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Resource))
}

/** The core API group of Kubernetes has no name in its address: `v1`. */
function moduleOf({ apiVersion }: Resource): string {
  return apiVersion.includes('cnpg')
    ? `@kubernetes-models/cloudnative-pg/${apiVersion}`
    : `kubernetes-models/${apiVersion}`
}

/** The errors of TypeScript for the resources, written as literals. */
async function typeErrorsOf(resources: readonly Resource[], modules: string): Promise<string> {
  const lines = resources.map((resource, index) => {
    const type = `import('${moduleOf(resource)}/${resource.kind}').I${resource.kind}`
    return `export const resource${index}: ${type} = ${JSON.stringify(resource, null, 2)}\n`
  })
  const file = join(dirname(modules), 'resources.ts')
  await writeFile(file, lines.join(''))
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
  ]
  const tsc = join(root, 'node_modules/.bin/tsc')
  const ended = await run(tsc, [...options, file], { cwd: dirname(modules) }).catch((error) => error)
  return ended.stdout as string
}
