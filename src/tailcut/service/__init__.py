"""The service: one selector for many workers, over HTTP; nothing that was answered is ever lost.

    client -> guard (host, token, scope, size) -> route (fields) -> keeper (one thread) -> journal -> answer

keeper.py       does what is asked, writes it in groups, and only then lets it be answered
guard.py        stands before every route
requests.py     what clients send, checked; answers.py what they get; limits.py how much of it
steps.py        select, observe, proceed; projects.py; reading.py statistics, history, explanations
statistics.py   a project's numbers; live.py pushes them; metrics.py counts the server's own
problems.py     errors as answers
app.py          puts it together; server.py runs it; logs.py writes down what happens
"""
