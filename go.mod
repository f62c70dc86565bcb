module highwater

go 1.26
