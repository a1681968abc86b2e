import type { UserCommand } from '../command.ts'
import { withService } from '../service.ts'
import { readTableName } from '../table-name.ts'

/** For programs that draw maps. The key is not in it: they ask for it, or it is added by hand. */
export const tilesCommand: UserCommand = {
  name: 'tiles',
  summary: 'print the address of the vector tiles of a table (TileJSON)',
  arguments: [{ name: 'TABLE', kind: 'table' }],
  run: (call) =>
    withService(call, async ({ client }) => {
      const { schema, name } = readTableName(call.args[0]!)
      const table = schema === undefined ? name : `${schema}.${name}`
      // A table without tiles has no address.
      await client.tiles.read(table)
      call.terminal.out.write(`${client.tiles.url(table)}\n`)
    }),
}
