import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { connection } from '../support/http/call.ts'
import { userProgram } from '../support/service/program.ts'
import { setup } from '../support/service/setup.ts'

/** `npm test` installs the shells where it can. */
const unless = (shell: string) => ({
  skip: spawnSync(shell, ['--version']).status === 0 ? false : `there is no ${shell} on this machine`,
})

test(
  'fish completes commands, options, tables and files, and runs nothing that was typed',
  unless('fish'),
  async (t) => {
    const { folder, env } = await newFolder(t)
    const script = `cartage completion fish | source
    for line in $argv; complete -C $line | string join ' '; end; true`
    const { stdout } = await promisify(execFile)('fish', ['--no-config', '-c', script, ...typed], {
      cwd: folder,
      env,
    })
    assert.deepEqual(stdout.split('\n'), [
      'again cancel follow list run status wait',
      '--format',
      'places_of_note',
      '--analyze',
      'create',
      './data.csv',
      // The list of candidates. Fish quotes what it puts into the line.
      'evil$(touch ran)',
      '',
    ])
    assert.deepEqual(await readdir(folder), ['cartage', 'data.csv'])
  },
)

test(
  'zsh completes commands, options, tables and files, and runs nothing that was typed',
  unless('zsh'),
  async (t) => {
    const { folder, env } = await newFolder(t)
    // In its own pseudo-terminal. Each line is completed, then printed by a key binding between two marks.
    const script = `zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell 'autoload -Uz compinit; compinit -u -D; source <(cartage completion zsh); stty cols 200 -echo
      show() { zle -I; print -r -- "<\${BUFFER}>"; BUFFER= }; zle -N show; bindkey "^G" show
      setopt no_beep no_auto_list; zstyle ":completion:*" insert-unambiguous true; print ready""made'
    zpty -r shell text '*readymade*'
    for line in "\${@}"; do
      zpty -w -n shell "$line"$'\\t\\a'
      zpty -r shell text '*<*>*'
      print -r -- "\${\${text##*<}%%>*}"
    done
    zpty -d shell`
    const lines = ['cartage job st', ...typed.slice(1)]
    const { stdout } = await promisify(execFile)('zsh', ['-f', '-c', script, 'zsh', ...lines], {
      cwd: folder,
      env,
      timeout: 120_000,
    })
    assert.deepEqual(
      stdout.split('\n').map((line) => line.trim()),
      [
        'cartage job status',
        'cartage sql --format',
        'cartage table show places_of_note',
        'cartage sql $(touch ran) --analyze',
        'cartage help key create',
        'cartage import ./data.csv',
        'cartage table show evil\\$\\(touch\\ ran\\)',
        '',
      ],
    )
    assert.deepEqual(await readdir(folder), ['cartage', 'data.csv'])
  },
)

const typed = [
  'cartage job ',
  'cartage sql --for',
  'cartage table show pla',
  'cartage sql $(touch ran) --ana',
  'cartage help key cr',
  'cartage import ./da',
  'cartage table show evil',
]

async function newFolder(t: TestContext) {
  const house = await setup(t)
  await house.user.sql(`create table places_of_note as select 1 as id;
    create table "evil$(touch ran)" (); create table "evil\x1b]52;c;YQ==\x07" ()`)
  const folder = await mkdtemp(join(tmpdir(), 'bin-'))
  await symlink(userProgram, join(folder, 'cartage'))
  await writeFile(join(folder, 'data.csv'), '')
  const home = await mkdtemp(join(tmpdir(), 'home-'))
  const PATH = `${folder}:${process.env.PATH}`
  const env = {
    ...process.env,
    ...connection(house),
    HOME: home,
    XDG_STATE_HOME: home,
    XDG_CONFIG_HOME: home,
    PATH,
  }
  return { folder, env }
}
