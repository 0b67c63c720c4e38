-- Logins of people who have several pages, locations or blogs at a network: the channel exists once one is chosen.
create table channel_choices (
  id uuid primary key,                     -- becomes the id of the channel, unless the page has one already
  org_id uuid not null,
  user_id uuid not null,                   -- who logged in, and chooses
  provider_id text not null,
  provider_version text not null,
  credentials text,                        -- sealed JSON, as that of a channel; null once a page is chosen
  page text,                               -- the page that was chosen
  refresh_claim uuid,                      -- who renews the token; one at a time over all processes
  refresh_until timestamptz,               -- after this a crashed renewal can be claimed again
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  foreign key (org_id, user_id) references memberships on delete cascade
);
create index channel_choices_of_person on channel_choices (org_id, user_id, created_at);   -- the pages that a person has still to choose
create index channel_choices_expiry on channel_choices (expires_at);                       -- sweep: nobody chose in time
