# Everything a person or CI does here, one recipe each. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup setup-test run test lint fmt unit docs sqlx sqlx-check audit bench drill drill-quick drill-controls man clean

CARGO_FLAGS := --locked --all-targets --all-features

help: ## List the recipes
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing to build and run (says what)
	@scripts/setup

setup-test: ## Install what is missing to run the tests (says what)
	@scripts/setup-test

run: setup ## Build, and start Oncehook on an embedded PostgreSQL in ./data
	@[ -x target/release/oncehook ] || echo 'Building with optimisation; the first time takes some minutes.'
	@cargo build --release --locked --bin oncehook
	@exec target/release/oncehook serve

test: setup setup-test lint unit docs sqlx-check audit drill-quick drill-controls ## Run all checks, tests and drills: what CI runs
	@echo 'make test: all of it passed'

lint: ## Check format and lints
	cargo fmt --check
	cargo clippy $(CARGO_FLAGS) -- -D warnings

fmt: ## Format the code
	cargo fmt

unit: ## Run the tests, each with a database of its own, and the examples of the docs
	cargo test --locked --all-features --doc
	cargo nextest run $(CARGO_FLAGS) --no-fail-fast

docs: ## Build the API documentation, in which no link may be broken
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --document-private-items

sqlx: setup ## Write .sqlx/ anew after SQL or a migration has changed
	scripts/sqlx-prepare

sqlx-check: setup ## Check that .sqlx/ is what the SQL and the migrations say
	scripts/sqlx-prepare --check

audit: ## Check licences, banned crates and known vulnerabilities
	scripts/audit

bench: setup ## Measure accepts on this machine, beside pgbench in the same run
	scripts/bench

drill: setup ## Prove the promises on this machine: a load under kill -9 and database crashes (3 minutes)
	cargo build --locked --bin oncehook
	$${CARGO_TARGET_DIR:-target}/debug/oncehook drill

# With all features, as the tests and the controls build it, so that nothing is compiled twice.
drill-quick: setup
	cargo build --locked --all-features --bin oncehook
	$${CARGO_TARGET_DIR:-target}/debug/oncehook drill --profile quick

drill-controls: setup ## Switch one safety after another off, and see that the drill notices each time
	scripts/drill-controls

man: ## Write the manual pages to target/man
	cargo build --locked --bin oncehook
	$${CARGO_TARGET_DIR:-target}/debug/oncehook man --out $${CARGO_TARGET_DIR:-target}/man

clean: ## Remove what was built, and keep ./data
	cargo clean
