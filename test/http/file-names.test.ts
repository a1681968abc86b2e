import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyUrl, send } from '../support/postgres/copying.ts'
import { setup } from '../support/service/setup.ts'

test('a file named like a program is downloaded as text, however the name is written', async (t) => {
  const { user } = await setup(t)
  const named = async (filename: string) => {
    const url = `${copyUrl(user, 'copyto', 'COPY (SELECT 1) TO STDOUT')}&filename=${encodeURIComponent(filename)}`
    return savedNames((await send(url)).headers['content-disposition']!)
  }
  for (const filename of [
    'setup.bat',
    'SETUP.BAT',
    'setup.bat.',
    'setup.bat ',
    'setup.bat . .\u00a0',
    'setup.bat\u202e',
    'setup.ba\u200bt',
    'setup.bat\u0007',
    'setup.csv.exe',
    '../../setup.cmd',
    'setup.bat::$DATA',
    'setup%2Ebat',
    'setup%2ebat%20',
    '=?utf-8?Q?setup=2Ebat?=',
    'page.html',
    'picture.svg',
    'install.sh',
    'macro.xlsm',
    'link.url',
    'x.ps1',
    'x.hta',
    'x.desktop',
    'x.command',
    'bat',
    '.bat',
  ]) {
    for (const saved of await named(filename)) {
      assert.doesNotMatch(saved, runs, `${filename} is saved as ${saved}`)
    }
  }
  assert.deepEqual(await named('.profile'), ['_profile'])
  assert.deepEqual(await named('...'), ['_'])
  for (const usual of [
    'a.csv',
    'a b.geojson',
    'a.dmp',
    'table.v2',
    'a.csv.gz',
    'numbers',
    'a.bat.csv',
    'notes.txt',
  ]) {
    assert.deepEqual(await named(usual), [usual])
  }
})

const runs =
  /\.(bat|exe|cmd|html|svg|sh|xlsm|url|ps1|hta|desktop|command)[.\s]*$|[:/\p{Cc}\p{Bidi_Control}]/iu

/** The names a client may read from the header: the plain one, raw and decoded, and the extended one. */
function savedNames(disposition: string): string[] {
  const [, plain, extended] = /^attachment; filename="([^"]*)"(?:; filename\*=UTF-8''(.*))?$/.exec(
    disposition,
  )!
  const names = [plain!, decodeURIComponent(plain!), ...(extended ? [decodeURIComponent(extended)] : [])]
  assert.doesNotMatch(plain!, /=\?/)
  return [...new Set(names.map((name) => name.replace(/\u200b/g, '')))]
}
