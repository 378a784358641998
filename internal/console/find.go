package console

import (
	"fmt"
	"strings"
)

// Find finds which of the commands, of one word or more each, a line of words
// begins with, the longest first, and gives its index and the words after it.
func Find(commands, words []string) (i int, args []string, err error) {
	i = -1
	for n, name := range commands {
		parts := strings.Fields(name)
		if len(words) < len(parts) || strings.Join(words[:len(parts)], " ") != name {
			continue
		}
		if i < 0 || len(name) > len(commands[i]) {
			i, args = n, words[len(parts):]
		}
	}
	if i < 0 {
		return i, nil, fmt.Errorf("no command %q; there are %s", words[0], strings.Join(commands, ", "))
	}
	return i, args, nil
}
