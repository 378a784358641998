//go:build !race

package channel

// manyProcesses is how many processes the tests have that are about many.
const manyProcesses = 64
