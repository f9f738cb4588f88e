"""The service: one selector for many workers, over HTTP; no acknowledged request is ever lost.

    client -> guard (host, token, scope, size) -> route (fields) -> writer (one thread) -> journal -> response

journal_writer.py   does what is asked, writes it in groups, and only then lets clients know
guard.py            stands before every route; access.py knows the tokens
request_bodies.py   what clients send, checked; responses.py what they get; service_limits.py how much of it
step_dispatch.py    the short way of an ordinary request for a step
steps.py            select, observe, proceed, fit; projects.py; reading.py statistics, history, explanations
chart_data.py       a project's statistics as JSON; live_stream.py pushes them; prometheus.py counters
error_responses.py  errors as responses
shared.py           what routes share
application.py      puts it together; http_server.py runs it; logs.py writes down what happens
pages.py            the dashboard, whose files assets.py lists
client.py           the way to it from Python
"""
