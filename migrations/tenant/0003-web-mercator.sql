-- PostGIS is called only from bodies in the standard's syntax, whose names were bound when this file ran: no function
-- that a tenant makes can be meant instead.

-- PostGIS lives in schema public, where tenants may add functions of the same names that fit a call better, or just
-- as well. So it is called only from bodies in the standard's syntax, whose names were bound when this file ran.
create function cartodb.CDB_LatLng(lat double precision, lng double precision) returns postgis.geometry
language sql immutable strict parallel safe
return postgis.st_setsrid(postgis.st_makepoint(lng, lat), 4326);

create function cartodb.CDB_LatLng(lat numeric, lng numeric) returns postgis.geometry
language sql immutable strict parallel safe
return postgis.st_setsrid(postgis.st_makepoint(lng::double precision, lat::double precision), 4326);

create function cartodb._CDB_WebmercatorExtent() returns postgis.geometry
language sql immutable parallel safe
return postgis.st_makeenvelope(-180, -89, 180, 89, 4326);

create function cartodb._CDB_LonLat(geom postgis.geometry) returns postgis.geometry
language sql immutable parallel safe
return case postgis.st_srid(geom) when 4326 then geom else postgis.st_transform(geom, 4326) end;

-- What of one shape, or of a collection of them, lies within the extent, each part in the dimension that it had.
create function cartodb._CDB_ClipShape(lonlat postgis.geometry) returns postgis.geometry
language sql immutable strict parallel safe
return (
  select case
    when postgis.st_isempty(clipped) then null
    when postgis.geometrytype(lonlat) like 'MULTI%' then postgis.st_multi(clipped)
    else clipped
  end
  from postgis.st_intersection(
    case postgis.st_dimension(lonlat)
      when 0 then lonlat
      else postgis.st_collectionextract(
        postgis.st_makevalid(postgis.st_curvetoline(lonlat)), postgis.st_dimension(lonlat) + 1)
    end,
    cartodb._CDB_WebmercatorExtent()) clipped
);

create function cartodb._CDB_ClipShapes(lonlat postgis.geometry) returns postgis.geometry
language sql immutable strict parallel safe
return case postgis.geometrytype(lonlat)
  when 'GEOMETRYCOLLECTION' then (
    select postgis.st_collect(array_agg(clipped))
    from postgis.st_dump(lonlat) part, cartodb._CDB_ClipShape(part.geom) clipped
    where clipped is not null)
  else cartodb._CDB_ClipShape(lonlat)
end;

-- A geometry that GEOS cannot handle is no reason to refuse the row it comes in: it has no web mercator form.
create function cartodb._CDB_Clip(lonlat postgis.geometry) returns postgis.geometry
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return cartodb._CDB_ClipShapes(lonlat);
exception when others then
  return null;
end
$$;

create function cartodb.CDB_TransformToWebmercator(geom postgis.geometry) returns postgis.geometry
language sql immutable parallel safe
return case
  when postgis.st_srid(geom) = 3857 then geom
  when cartodb._CDB_LonLat(geom) operator(postgis.@) cartodb._CDB_WebmercatorExtent()
    then postgis.st_transform(cartodb._CDB_LonLat(geom), 3857)
  else postgis.st_transform(cartodb._CDB_Clip(cartodb._CDB_LonLat(geom)), 3857)
end;

-- Runs for every row that is written, so it does without a search_path of its own, which would cost more than the
-- call. It needs none: the one name in it has its schema.
create function cartodb._CDB_Update_The_Geom_Webmercator() returns trigger
language plpgsql as $$
begin
  new.the_geom_webmercator := cartodb.CDB_TransformToWebmercator(new.the_geom);
  return new;
end
$$;
