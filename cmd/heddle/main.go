// Command heddle routes multicast through InfiniBand fabrics; see heddle help.
package main

import (
	"os"

	"heddle/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
