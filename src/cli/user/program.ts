import { readUserConfig } from '../../config/config.ts'
import { UsageError } from '../command-error.ts'
import { type HelpPages, helpCommand, inColumns } from '../help.ts'
import type { Program } from '../run-program.ts'
import { isOperatorCommand, serviceSection } from '../service-commands.ts'
import { openTerminal } from '../terminal.ts'
import { keyCommands } from './account/keys.ts'
import { mapCommands } from './account/maps.ts'
import { tableCommands } from './account/tables.ts'
import { tilesCommand } from './account/tiles.ts'
import { type UserCall, userOptions } from './command.ts'
import { completionCommand } from './completion.ts'
import { explainFailure } from './explain.ts'
import { jobCommands } from './jobs/commands.ts'
import { openCommand } from './open.ts'
import { outputFormats } from './output/formats.ts'
import { profileCommands } from './profile/commands.ts'
import { scheduleCommands } from './schedules/commands.ts'
import { sqlCommand } from './sql/command.ts'
import { historyCommand } from './sql/history-command.ts'
import { queryCommands } from './sql/queries.ts'
import { transferCommands } from './transfer/commands.ts'
import { importCommand } from './transfer/import.ts'

/** In the order of the help. */
const section: Program<UserCall>['section'] = {
  title: 'With a key, over HTTP',
  commands: [
    ...profileCommands,
    sqlCommand,
    historyCommand,
    ...queryCommands,
    ...jobCommands,
    ...scheduleCommands,
    importCommand,
    ...transferCommands,
    ...tableCommands,
    tilesCommand,
    ...mapCommands,
    ...keyCommands,
    completionCommand,
    openCommand,
    helpCommand(() => help),
  ],
  commonOptions: userOptions,
}

const help: HelpPages = {
  sections: [section, serviceSection],
  topics: {
    formats: [
      `--format takes ${outputFormats.join(', ')}.`,
      '',
      ...inColumns([
        ['table', 'the default on a terminal; cells that do not fit are cut with …'],
        ['line', 'one line for each column'],
        ['csv', 'with a header; NULL is an empty cell, an empty text is ""'],
        ['tsv', 'with a header; NULL is \\N, as in COPY'],
        ['json', 'the whole answer of the service as one document; --json is the same'],
        ['ndjson', 'the default in a pipe or file: one JSON object in each line'],
        ['geojson', 'a FeatureCollection: the_geom is the geometry, else the first geometry column'],
        ['markdown', 'a Markdown table'],
      ]),
      '',
      'Any number of rows is streamed, and no digit is rounded.',
    ],
    'exit-codes': inColumns([
      ['0', 'done'],
      ['1', 'the database or the service refused; a job failed or is unknown'],
      ['2', 'called wrongly'],
      ['3', 'not reachable, cut off, or over a limit (429, 503): try again'],
      ['4', 'no key, or a wrong one'],
      ['5', 'the job was accepted, and how it ends is not known: cartage job wait JOB'],
      ['130', 'interrupted'],
    ]),
  },
  footer: 'cartage help COMMAND explains one; also: help formats, help exit-codes.',
}

/** The command line of users. It works over HTTP only. */
export const userProgram: Program<UserCall> = {
  section,
  help,
  openCall: (args, values) => {
    const config = readUserConfig()
    return { args, values, config, terminal: openTerminal(values, config) }
  },
  explain: explainFailure,
  refuse: (words) =>
    isOperatorCommand(words)
      ? new UsageError(`'cartage ${words[0]}' runs on the machine of the service: install the package there`)
      : undefined,
}
