import countriesName from 'geodata:countries'
import type {
  LayergroupDocument,
  NamedMapDocument,
  NamedMapTemplate,
  StyleDocument,
} from '../../src/contract/documents.ts'
import { authorizationOf } from '../api/credential.ts'
import { addressOf, request, requestJson } from '../api/request.ts'
import { credential } from '../api/session.ts'
import { assetAddress, serviceAddress } from '../parts/browser/address.ts'
import { colourOf } from '../parts/browser/theme.ts'
import { configOf, type MapDraft, templateOf } from './map-draft.ts'

export const listMaps = async (signal: AbortSignal) =>
  (await requestJson<{ template_ids: readonly string[] }>('listNamedMaps', { signal })).template_ids

export const readMap = (name: string, signal: AbortSignal) =>
  requestJson<NamedMapDocument>('readNamedMap', { parameters: { template: name }, signal })

export async function saveMap(template: NamedMapTemplate, isNew: boolean): Promise<void> {
  if (isNew) await requestJson('createNamedMap', { json: template })
  else await requestJson('replaceNamedMap', { parameters: { template: template.name }, json: template })
}

export async function withdrawMap(name: string): Promise<void> {
  await request('deleteNamedMap', { parameters: { template: name } })
}

/** Empty if it needs none. */
export const tokenOf = ({ auth }: NamedMapTemplate) =>
  (auth as { valid_tokens?: readonly string[] } | undefined)?.valid_tokens?.[0] ?? ''

/** The addresses of a map for people without an account. */
export function sharedAddresses(name: string, token: string) {
  const query = token ? `?${new URLSearchParams({ auth_token: token })}` : ''
  const parameters = { template: name }
  const place = { ...parameters, layer: 'all', z: 'z', x: 'x', y: 'y' }
  return {
    page: addressOf('openMapPage', { parameters }) + query,
    style: addressOf('readMapStyle', { parameters }) + query,
    tileJson: addressOf('readNamedMapTileJson', { parameters }) + query,
    tiles:
      addressOf('readNamedMapTile', { parameters: place }).replace(/z\/x\/y$/, '{z}/{x}/{y}.mvt') + query,
  }
}

/** The style of a draft, drawn with the key of this session. Throws the errors of its layers. */
export async function draftStyle(draft: MapDraft): Promise<StyleDocument> {
  const layers = draft.layers.toReversed().map(configOf)
  const { layergroupid } = await requestJson<LayergroupDocument>('createMap', { json: { layers } })
  const template = templateOf(draft)
  const { title = '', description = '', popup = {}, legend = [], style = [] } = template.view as ViewParts
  const tiles = (at: number) => `${addressOf('createMap')}/${layergroupid}/${at}/{z}/{x}/{y}.mvt`
  return {
    version: 8,
    name: title,
    metadata: {
      cartage: {
        title: title || 'Map',
        description,
        basemap: draft.basemap === 'world' ? 'world' : 'none',
        popup,
        legend,
        bounds: draft.bounds,
      },
    },
    center: [0, 20],
    zoom: 1,
    sources: {
      ...(draft.basemap === 'world' && {
        'basemap:source': {
          type: 'geojson',
          data: assetAddress(countriesName),
          attribution: 'Natural Earth',
        },
      }),
      ...Object.fromEntries(
        layers.map(({ id }, at) => [id, { type: 'vector', tiles: [tiles(at)], maxzoom: 22 }]),
      ),
    },
    layers: [
      ...basemapLayers(draft.basemap),
      ...style.map((layer) => ({ ...layer, 'source-layer': layer.source })),
    ],
  }
}

type ViewParts = Readonly<{
  title?: string
  description?: string
  popup?: Record<string, readonly string[]>
  legend?: readonly never[]
  style?: readonly Readonly<Record<string, unknown>>[]
}>

function basemapLayers(basemap: string): readonly Readonly<Record<string, unknown>>[] {
  const isWorld = basemap === 'world'
  const source = 'basemap:source'
  const paper = {
    id: 'basemap:background',
    type: 'background',
    paint: { 'background-color': colourOf(isWorld ? 'water' : 'land') },
  }
  if (!isWorld) return [paper]
  return [
    paper,
    { id: 'basemap:land', type: 'fill', source, paint: { 'fill-color': colourOf('land') } },
    {
      id: 'basemap:borders',
      type: 'line',
      source,
      paint: { 'line-color': colourOf('border-of-land'), 'line-width': 0.7 },
    },
  ]
}

/** Sends the key of the session only to this service, in a header. */
export function withKey(url: string) {
  const key = authorizationOf(credential.value)
  const isOurs = url.startsWith(`${serviceAddress}/user/`)
  return key !== undefined && isOurs ? { url, headers: { Authorization: key } } : { url }
}
