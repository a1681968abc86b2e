// Uses named maps with the npm package cartodb: node use-cartodb-maps.cjs PACKAGE BASE_URL TOKEN.
const [packagePath, baseUrl, apiKey] = process.argv.slice(2)
const { Maps, SQL } = require(packagePath)
const { Named } = Maps
const named = new Named({ user: 'anyone', api_key: apiKey, maps_api_url: `${baseUrl}/api/v1/map/named` })
const sql = new SQL({ user: 'anyone', api_key: apiKey, sql_api_url: `${baseUrl}/api/v2/sql` })

const ended = (promise) =>
  new Promise((resolve) => {
    promise.on('done', (value) => resolve({ done: value }))
    promise.on('_error', (value) => resolve({ error: value }))
  })

const template = (query) => ({
  version: '0.0.1',
  name: 'world',
  auth: { method: 'token', valid_tokens: ['open sesame'] },
  placeholders: { color: { type: 'css_color', default: 'red' }, least: { type: 'number', default: 0 } },
  layergroup: {
    version: '1.0.1',
    layers: [
      {
        type: 'cartodb',
        options: {
          cartocss_version: '2.1.1',
          cartocss: '#layer { polygon-fill: <%= color %>; }',
          sql: query,
        },
      },
    ],
  },
})

async function main() {
  const query = 'select * from places where n >= <%= least %>'
  const seen = {}
  seen.rows = await ended(sql.execute('SELECT count(*)::int AS n FROM places'))
  seen.created = await ended(named.create({ template: template(query) }))
  seen.again = await ended(named.create({ template: template(query) }))
  seen.listed = await ended(named.list())
  seen.defined = await ended(named.definition({ template_id: 'world' }))
  seen.refused = await ended(named.instantiate({ template_id: 'world', auth_token: 'guess' }))
  const opened = { template_id: 'world', auth_token: 'open sesame', params: { color: '#00ff00', least: 2 } }
  seen.instantiated = await ended(named.instantiate(opened))
  seen.updated = await ended(named.update({ template: template(`${query} limit 1`) }))
  seen.deleted = await ended(named.delete({ template_id: 'world' }))
  seen.gone = await ended(named.definition({ template_id: 'world' }))
  process.stdout.write(JSON.stringify(seen))
}

main()
