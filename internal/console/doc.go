// Package console lets people command a program that runs: by lines of words
// on a unix socket of their own.
//
// A line is a command, quoted as in a shell. The answer is its lines, each
// after a blank, and then a line "ok", or "error: " and what is wrong.
package console
