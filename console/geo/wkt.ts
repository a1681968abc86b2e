import type { Geometry, Position } from './ewkb.ts'

/** A geometry as WKT: `POINT(7 51)`. */
export function writeWkt(geometry: Geometry): string {
  const name = geometry.type.toUpperCase()
  switch (geometry.type) {
    case 'Point':
      return `${name}(${pair(geometry.coordinates)})`
    case 'GeometryCollection':
      return `${name}(${geometry.geometries.map(writeWkt).join(',')})`
    case 'LineString':
    case 'MultiPoint':
      return name + list(geometry.coordinates)
    case 'Polygon':
    case 'MultiLineString':
      return name + lists(geometry.coordinates)
    case 'MultiPolygon':
      return `${name}(${geometry.coordinates.map(lists).join(',')})`
  }
}

const pair = (position: Position) => position.join(' ')
const list = (positions: readonly Position[]) => `(${positions.map(pair).join(',')})`
const lists = (parts: readonly Position[][]) => `(${parts.map(list).join(',')})`
