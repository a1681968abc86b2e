-- PostGIS lives in schema public, where tenants may add functions of the same names that fit a call better, or just
-- as well. So it is called only from bodies in the standard's syntax, whose names were bound when this file ran.

create function cartodb.CDB_LatLng(lat double precision, lng double precision) returns public.geometry
language sql immutable strict parallel safe
return public.st_setsrid(public.st_makepoint(lng, lat), 4326);

create function cartodb.CDB_LatLng(lat numeric, lng numeric) returns public.geometry
language sql immutable strict parallel safe
return public.st_setsrid(public.st_makepoint(lng::double precision, lat::double precision), 4326);

create function cartodb._CDB_WebmercatorExtent() returns public.geometry
language sql immutable parallel safe
return public.st_makeenvelope(-180, -89, 180, 89, 4326);

create function cartodb._CDB_LonLat(geom public.geometry) returns public.geometry
language sql immutable parallel safe
return case public.st_srid(geom) when 4326 then geom else public.st_transform(geom, 4326) end;

-- What of one shape, or of a collection of them, lies within the extent, each part in the dimension that it had.
create function cartodb._CDB_ClipShape(lonlat public.geometry) returns public.geometry
language sql immutable strict parallel safe
return (
  select case
    when public.st_isempty(clipped) then null
    when public.geometrytype(lonlat) like 'MULTI%' then public.st_multi(clipped)
    else clipped
  end
  from public.st_intersection(
    case public.st_dimension(lonlat)
      when 0 then lonlat
      else public.st_collectionextract(
        public.st_makevalid(public.st_curvetoline(lonlat)), public.st_dimension(lonlat) + 1)
    end,
    cartodb._CDB_WebmercatorExtent()) clipped
);

create function cartodb._CDB_ClipShapes(lonlat public.geometry) returns public.geometry
language sql immutable strict parallel safe
return case public.geometrytype(lonlat)
  when 'GEOMETRYCOLLECTION' then (
    select public.st_collect(array_agg(clipped))
    from public.st_dump(lonlat) part, cartodb._CDB_ClipShape(part.geom) clipped
    where clipped is not null)
  else cartodb._CDB_ClipShape(lonlat)
end;

-- A geometry that GEOS cannot handle is no reason to refuse the row it comes in: it has no web mercator form.
create function cartodb._CDB_Clip(lonlat public.geometry) returns public.geometry
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return cartodb._CDB_ClipShapes(lonlat);
exception when others then
  return null;
end
$$;

create function cartodb.CDB_TransformToWebmercator(geom public.geometry) returns public.geometry
language sql immutable parallel safe
return case
  when public.st_srid(geom) = 3857 then geom
  when cartodb._CDB_LonLat(geom) operator(public.@) cartodb._CDB_WebmercatorExtent()
    then public.st_transform(cartodb._CDB_LonLat(geom), 3857)
  else public.st_transform(cartodb._CDB_Clip(cartodb._CDB_LonLat(geom)), 3857)
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
