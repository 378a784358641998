//go:build race

package channel

// manyProcesses is how many processes the tests have that are about many: those of the race
// detector need so much of the processors that more of them only wait.
const manyProcesses = 16
