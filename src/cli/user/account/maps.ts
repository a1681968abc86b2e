import type { NamedMapTemplate } from '../../../contract/documents.ts'
import { pathOf } from '../../../contract/operations.ts'
import { confirm } from '../../ask.ts'
import { yesOption } from '../../command.ts'
import { UsageError } from '../../command-error.ts'
import { readNamedFile } from '../../named-file.ts'
import type { UserCommand } from '../command.ts'
import { printList } from '../output/list.ts'
import { withService } from '../service.ts'

const mapArgument = [{ name: 'MAP', kind: 'text' }] as const

const list: UserCommand = {
  name: 'map list',
  summary: 'list the named maps of the key; with the master key, all',
  run: (call) =>
    withService(call, async ({ client }) => {
      const rows = (await client.maps.list()).map((name) => ({ name }))
      await printList(call, rows, 'No named maps yet: cartage map create makes one from a file')
    }),
}

const show: UserCommand = {
  name: 'map show',
  summary: 'print a named map as JSON, with the tokens of its viewers',
  arguments: mapArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const { template } = await client.maps.read(call.args[0]!)
      call.terminal.out.write(`${JSON.stringify(template, null, 2)}\n`)
    }),
}

const create: UserCommand = {
  name: 'map create',
  summary: 'make a named map from a JSON file, which runs as this key',
  arguments: [{ name: 'FILE', kind: 'file' }],
  options: { replace: { type: 'boolean', help: 'replace the map of this name' } },
  run: (call) =>
    withService(call, async ({ client }) => {
      const template = readTemplate(await readNamedFile(call.args[0]!))
      const { template_id: name } = await (call.values.replace
        ? client.maps.replace(template)
        : client.maps.create(template))
      call.terminal.out.write(`${name}\n`)
    }),
}

function readTemplate(text: string): NamedMapTemplate {
  try {
    return JSON.parse(text) as NamedMapTemplate
  } catch {
    throw new UsageError('the file is not valid JSON')
  }
}

const share: UserCommand = {
  name: 'map share',
  summary: 'print the address of the page of a named map',
  arguments: mapArgument,
  options: {
    frame: { type: 'boolean', help: 'print an <iframe> for a web page instead' },
    style: { type: 'boolean', help: 'print the address of its MapLibre style instead' },
    tiles: { type: 'boolean', help: 'print the address of its vector tiles instead' },
    tilejson: { type: 'boolean', help: 'print the address of its TileJSON instead' },
  },
  run: (call) =>
    withService(call, async ({ client, url, user }) => {
      const chosen = (['frame', 'style', 'tiles', 'tilejson'] as const).filter((name) => call.values[name])
      if (chosen.length > 1) throw new UsageError('choose one of --frame, --style, --tiles and --tilejson')
      const [what = 'page'] = chosen
      const { template } = await client.maps.read(call.args[0]!)
      const address = `${url}${pathTo(template.name, user, what)}${tokenQuery(template)}`
      const text = `<iframe src="${address}" width="100%" height="480" frameborder="0" allowfullscreen></iframe>`
      call.terminal.out.write(`${what === 'frame' ? text : address}\n`)
    }),
}

type Shared = 'page' | 'frame' | 'style' | 'tiles' | 'tilejson'

function pathTo(template: string, name: string, what: Shared): string {
  if (what === 'page' || what === 'frame') return pathOf('openMapPage', { name, template })
  if (what === 'style') return pathOf('readMapStyle', { name, template })
  if (what === 'tilejson') return pathOf('readNamedMapTileJson', { name, template })
  const parameters = { name, template, layer: 'all', z: 'z', x: 'x', y: 'y' }
  return pathOf('readNamedMapTile', parameters).replace(/z\/x\/y$/, '{z}/{x}/{y}.mvt')
}

/** With the first of its tokens, if it needs one. */
function tokenQuery({ auth }: NamedMapTemplate): string {
  const { valid_tokens: tokens } = (auth ?? {}) as { valid_tokens?: readonly string[] }
  return tokens?.[0] === undefined ? '' : `?${new URLSearchParams({ auth_token: tokens[0] })}`
}

const remove: UserCommand = {
  name: 'map delete',
  summary: 'delete a named map; those who have it open see it no longer',
  arguments: mapArgument,
  options: yesOption,
  run: async (call) => {
    const name = call.args[0]!
    await confirm(call, { name, loss: `This deletes the named map ${name}`, verb: 'delete' })
    return withService(call, async ({ client }) => {
      await client.maps.delete(name)
      call.terminal.say(`deleted ${name}`)
    })
  },
}

export const mapCommands: readonly UserCommand[] = [list, show, create, share, remove]
