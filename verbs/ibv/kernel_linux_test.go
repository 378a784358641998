//go:build amd64

package ibv_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/testenv"
	"heddle/internal/peer"
)
