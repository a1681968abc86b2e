-- The roles of 0.1.0. Their passwords follow from the secret and their names; here are PostgreSQL's hashes of them.
create role cartage_u1 login password 'SCRAM-SHA-256$1:KoKre0sIenBM3xm4WpDUXQ==$DnbTXQw8W6MBd5yv4j4xSh6IohsfQyRHLtwFt8vjGJg=:qPt1+P6AVzEtA2xyffM9fnH14nWXpuGM+so9SOb+7QQ=';
create role cartage_u1_public login password 'SCRAM-SHA-256$1:ZJs58Py2tNd+Clq0VyaaRw==$cIR1MbaU7JSS2vMyCPq0N2rMb/XHc54dQiyiqeuOKwU=:lTr7USvUAXY2NSKnwk1EDnkcwJsUNwBWtJPTtE2/k8I=';
create role cartage_u1_k7 login password 'SCRAM-SHA-256$1:w+A1JBQslj6AsbqSz4HuAg==$7reMuC0O3ioAIhpAH1V0g069vNprccAVrRN1KOzftmM=:n2ABYJR7+avpLWH2zDgfevMasbrYfihsCxoI1Gg2L6g=';
create role cartage_u2 login password 'SCRAM-SHA-256$1:B3w9mG4ZrWulmXW4RkakKg==$QZcYrLO6nfWrIUyziJRKtI2TwNo/57ZPb+8uOio4DZ4=:/ld0EFFgfF+jnq2tLZ+t12VVFxwBNNiNkfob7hErLwU=';
create role cartage_u2_public login password 'SCRAM-SHA-256$1:r3Kq8vsK75e9RudAHU6d0A==$tPwu55nOtyqcVWI3NUWwBJkRv9DWmuGkGPpYnikm1FY=:hhdded/r/sxj1GC+yzFvVfF0tSDvBzBxdVmOrb3OzK8=';
create role cartage_u3 login password 'SCRAM-SHA-256$1:Dio4Mjyij2I1gmCh0L7qNQ==$iULu0idIx1304yLTKohO15DBhe5iKkY1mdrnVNKqlAw=:b8ulaEzBvtvbFWEpiKfIfvw7LF0GYK5Rbab5Zhi4rvs=';
create role cartage_u3_public login password 'SCRAM-SHA-256$1:mYGVudZQ+spIlV5QAmoJkA==$ojFMLMfTss6w5dkbyjtGdkvNa2WLpeTL26CUXsmUf/E=:hnAxGVO+JzHVC5TiYC5JSPNUfj9B6RTYo4q1h08KT4Y=';
create role cartage_u3_k8 login password 'SCRAM-SHA-256$1:zhCfzAg5Biv9p0ob4FXWBA==$DJ5DbY2fPOOP0OyHTYc6ocMUnDrVYxEqOJdMWkOQMZU=:kx1n9XdEvf4ob0TuDNOqdqkaF5+h3OWa3DBuQ5rXMLE=';

grant cartage_u1_public to cartage_u1;
grant cartage_u2_public to cartage_u2;
grant cartage_u3_public to cartage_u3;
