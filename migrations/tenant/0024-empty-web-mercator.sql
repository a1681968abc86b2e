-- An empty geometry has no web mercator form. It is judged by itself: PostGIS 3.6 finds it inside of every box, so it came out as
-- an empty point there.
create or replace function cartodb.CDB_TransformToWebmercator(geom postgis.geometry) returns postgis.geometry
language sql immutable parallel safe
return case
  when postgis.st_srid(geom) = 3857 then geom
  when postgis.st_isempty(geom) then null
  when cartodb._CDB_LonLat(geom) operator(postgis.@) cartodb._CDB_WebmercatorExtent()
    then postgis.st_transform(cartodb._CDB_LonLat(geom), 3857)
  else postgis.st_transform(cartodb._CDB_Clip(cartodb._CDB_LonLat(geom)), 3857)
end;
